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

/** Its lines fit the editor of a laptop. */
const WORDS = `# What your tracking service knows, as one graph:
#
#   group       a search: many experiments that try
#               parameters
#   experiment  one run; its jobs are its processes,
#               each on a machine (a node)
#   build       made the image that a run starts from
#
# Ctrl-Enter runs it. Below the answer stand the
# upstream requests that it took. "Operations" above
# has more to begin with.

`;

const SEARCH = `query Welcome {
  group(id: "ada.mnist.1") {
    uniqueName
    status
    experiments(
      first: 3
      order: { metric: "loss", direction: ASC }
    ) {
      totalCount
      nodes {
        uniqueName
        status
        lastMetricValue(name: "loss")
        declaration(name: "lr")
        buildJob {
          uniqueName
          commit
        }
        jobs {
          nodes {
            role
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
  experiment(id: "ada.mnist.42") {
    uniqueName
    status
    latestMetrics {
      name
      value
    }
    experimentGroup {
      uniqueName
      status
      experimentCounts {
        total
        succeeded
      }
    }
    buildJob {
      uniqueName
      commit
    }
    jobs {
      nodes {
        role
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
