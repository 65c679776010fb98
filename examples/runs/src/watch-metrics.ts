import { useState } from "react";
import { graphql, type DocumentType } from "./generated/index.ts";
import { useLive } from "./live.ts";

const watchMetricsSubscription = graphql(`
  subscription WatchMetrics($id: ID!, $after: String) {
    experimentMetricRecorded(id: $id, after: $after) {
      id
      createdAt
      values {
        name
        value
      }
    }
  }
`);

type MetricRecord = DocumentType<typeof watchMetricsSubscription>["experimentMetricRecorded"];

interface Watched {
  readonly id: string;
  /** Cursor of what was read already; null if there was nothing. */
  readonly after: string | null;
  readonly isFinished: boolean;
  /** Called when the first metrics are recorded. */
  readonly onFirst: () => void;
}

/** The records behind a cursor: each once, also when the connection breaks in between. */
export function useMetricRecords({ id, after, isFinished, onFirst }: Watched): readonly MetricRecord[] {
  const [records, setRecords] = useState<readonly MetricRecord[]>([]);
  useLive({
    query: watchMetricsSubscription,
    of: `${id} ${after}`,
    isOver: isFinished,
    variables: () => ({ id, after: records.at(-1)?.id ?? after }),
    onEvent: ({ experimentMetricRecorded: record }) => {
      // Without a cursor, records between the read and the subscription may be missing: reading again brings all.
      if (after === null) onFirst();
      else setRecords((earlier) => [...earlier, record]);
    },
  });
  return records;
}
