import type { Capability } from "../../rest/api/server.ts";

interface Welcomed {
  readonly isDemo: boolean;
  readonly capabilities: readonly Capability[];
}

/**
 * What the page shows first: with the demo a search, or at least a run of it, with build and machines. It takes no variables,
 * because GraphiQL does not load those of the first default tab (graphql/graphiql#3392).
 */
export function welcomeTo({ isDemo, capabilities }: Welcomed): string {
  if (!isDemo) return WORDS + START;
  return WORDS + (capabilities.includes("METRIC_ORDERS") ? SEARCH : RUN);
}

/** Its lines fit the editor of a tablet, and stand beside what they are about, so that a small window shows the query as well. */
const WORDS = `# Ctrl-Enter runs this. Below the
# answer: the requests it took.
# "Operations" above has more.

`;

const SEARCH = `query Welcome {
  # group: a search of parameters
  group(id: "ada.mnist.1") {
    uniqueName
    status
    # experiment: one run of it
    experiments(
      first: 3
      order: {
        metric: "loss"
        direction: ASC
      }
    ) {
      totalCount
      nodes {
        uniqueName
        status
        lastMetricValue(name: "loss")
        declaration(name: "lr")
        # build: made its image
        buildJob {
          uniqueName
          commit
        }
        # jobs: processes of the run
        jobs {
          nodes {
            role
            # node: its machine
            nodeScheduled {
              name
              memory
            }
          }
        }
      }
    }
  }
}
`;

const RUN = `query Welcome {
  # experiment: one run
  experiment(id: "ada.mnist.42") {
    uniqueName
    status
    latestMetrics {
      name
      value
    }
    # group: the search it is of
    experimentGroup {
      uniqueName
      status
      experimentCounts {
        total
        succeeded
      }
    }
    # build: made its image
    buildJob {
      uniqueName
      commit
    }
    # jobs: processes of the run
    jobs {
      nodes {
        role
        # node: its machine
        nodeScheduled {
          name
          memory
        }
      }
    }
  }
}
`;

const START = `query Welcome {
  viewer {
    username
  }
  gateway {
    version
    capabilities
  }
}
`;
