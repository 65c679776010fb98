import { ApolloClient, HttpLink, InMemoryCache } from "@apollo/client";
import { GraphQL17Alpha9Handler } from "@apollo/client/incremental";
import { Client, fetchExchange, gql } from "@urql/core";

/* The script of a page that shows a table of runs as it arrives, with the client that the URL names. */

interface Row {
  readonly status: string;
  readonly buildJob?: { readonly commit: string | null } | null;
}

const {
  client,
  uri = "",
  token = "",
  query = "",
} = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const headers = { authorization: `token ${token}` };
const table = document.createElement("table");
document.body.append(table);

/** Shows the rows, and records when each state of the table appeared, in milliseconds after the request. */
const begun = performance.now();
const times: [built: number, ms: number][] = [];
function show(data: unknown): void {
  // Safe: the query selects these fields.
  const { project } = data as { project: { experiments: { nodes: readonly Row[] } } };
  const rows = project.experiments.nodes.map(({ status, buildJob }) => {
    const row = document.createElement("tr");
    for (const text of [status, buildJob?.commit ?? ""]) row.insertCell().textContent = text;
    return row;
  });
  table.replaceChildren(...rows);
  times.push([rows.filter((row) => row.cells[1]?.textContent).length, performance.now() - begun]);
  document.body.dataset["times"] = JSON.stringify(times);
}

if (client === "urql")
  new Client({ url: uri, exchanges: [fetchExchange], fetchOptions: { headers }, preferGetMethod: false })
    .query(gql(query), {})
    .subscribe(({ data }) => data && show(data));
else
  new ApolloClient({
    link: new HttpLink({ uri, headers }),
    cache: new InMemoryCache(),
    // Safe: the types of Apollo Client differ only with `exactOptionalPropertyTypes`.
    incrementalHandler: new GraphQL17Alpha9Handler() as NonNullable<
      ApolloClient.Options["incrementalHandler"]
    >,
  })
    .watchQuery({ query: gql(query), fetchPolicy: "no-cache" })
    .subscribe(({ data }) => data && show(data));
