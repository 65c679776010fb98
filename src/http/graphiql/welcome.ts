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
  # a search: it tries parameters
  group(id: "ada.mnist.1") {
    uniqueName
    status
    # its experiments: a run each
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
        # made the image of the run
        buildJob {
          uniqueName
          commit
        }
        # the processes of the run
        jobs {
          nodes {
            role
            # the machine
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
  # an experiment: one run
  experiment(id: "ada.mnist.42") {
    uniqueName
    status
    latestMetrics {
      name
      value
    }
    # the search that it is part of
    experimentGroup {
      uniqueName
      status
      experimentCounts {
        total
        succeeded
      }
    }
    # made the image of the run
    buildJob {
      uniqueName
      commit
    }
    # the processes of the run
    jobs {
      nodes {
        role
        # the machine
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
