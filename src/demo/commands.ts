import { writable } from "./access.ts";
import { fieldsOf, isFields, pythonType, textField } from "./body.ts";
import { record } from "./course.ts";
import { type Answer, empty, type Exchange, type Handler, json, Refusal } from "./exchange.ts";
import { experiments, type Kind } from "./kinds.ts";
import type { Experiment, Group, Run } from "./model.ts";
import { viewerName } from "./reads.ts";
import { metricRecord } from "./records.ts";

/** Changes the description; other fields are ignored. `updated_at` is refreshed in any case. */
export function update<R extends Run>(kind: Kind<R>): Handler {
  return (exchange) => {
    const run = writable(exchange, kind);
    const { description } = fieldsOf(exchange.body());
    if (description !== undefined) {
      run.description = description === null ? null : textField("description", description);
    }
    run.updatedAt = exchange.world.time;
    return json(200, kind.record(exchange.world, run, viewerName(exchange)));
  };
}

export function remove<R extends Run>(kind: Kind<R>): Handler {
  return (exchange) => {
    kind.remove(exchange.world, writable(exchange, kind));
    return empty(204);
  };
}

export function stop<R extends Run>(kind: Kind<R>): Handler {
  return (exchange) => {
    kind.stop(exchange.world, writable(exchange, kind));
    return empty(200);
  };
}

export function bookmark<R extends Run>(kind: Kind<R>, hole = "id"): Handler {
  return (exchange) => {
    writable(exchange, kind, hole).bookmarkedBy.add(viewerName(exchange));
    return empty(201);
  };
}

export function unbookmark<R extends Run>(kind: Kind<R>, hole = "id"): Handler {
  return (exchange) => {
    writable(exchange, kind, hole).bookmarkedBy.delete(viewerName(exchange));
    return empty(204);
  };
}

export function startTensorboard<R extends Experiment | Group>(kind: Kind<R>): Handler {
  return (exchange) => {
    writable(exchange, kind).hasTensorboard = true;
    return empty(201);
  };
}

export function stopTensorboard<R extends Experiment | Group>(kind: Kind<R>): Handler {
  return (exchange) => {
    writable(exchange, kind).hasTensorboard = false;
    return empty(200);
  };
}

export function recordMetric(exchange: Exchange): Answer {
  const experiment = writable(exchange, experiments);
  const { values } = fieldsOf(exchange.body());
  if (values === undefined) throw new Refusal(400, { values: ["This field is required."] });
  if (values === null) throw new Refusal(400, { values: ["This field may not be null."] });
  // Real servers crash here; the demo names the fault.
  if (!isFields(values)) {
    const fault = `Expected a dictionary of items but got type "${pythonType(values)}".`;
    throw new Refusal(400, { values: [fault] });
  }
  const metric = record(exchange.world, experiment, values, exchange.world.time);
  return json(201, metricRecord(experiment, metric));
}
