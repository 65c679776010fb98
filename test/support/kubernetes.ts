import {
  PrometheusRule,
  ServiceMonitor,
} from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";
import { Deployment } from "kubernetes-models/apps/v1";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2";
import { Ingress, NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Service } from "kubernetes-models/v1";

const MODELS = [
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  NetworkPolicy,
  PodDisruptionBudget,
  PrometheusRule,
  Service,
  ServiceMonitor,
];

interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: unknown;
  readonly spec: unknown;
}

/** Copies a value so that reading a key removes its path from `unread`. */
function watched(value: unknown, path: string, unread: Set<string>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, each]: [string, unknown]) => {
    unread.add(`${path}.${key}`);
    return [key, watched(each, `${path}.${key}`, unread)] as const;
  });
  const copy: object = Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
  return new Proxy(copy, {
    get: (target, key) => {
      unread.delete(`${path}.${String(key)}`);
      return Reflect.get(target, key) as unknown;
    },
  });
}

/**
 * Validates a resource by the schema of its kind, and returns the paths of the keys that the schema does not know: the
 * validator does not read them. Throws when a key is missing or has a wrong type.
 */
export function unknownKeysOf({ apiVersion, kind, metadata, spec, ...others }: Resource): string[] {
  const Model = MODELS.find((each) => each.apiVersion === apiVersion && each.kind === kind);
  if (!Model) throw new TypeError(`expected a kind that is known here, got ${apiVersion} ${kind}`);
  const unread = new Set<string>();
  const model = Object.assign(new Model(), {
    metadata: watched(metadata, "metadata", unread),
    spec: watched(spec, "spec", unread),
  });
  unread.clear();
  for (const [name, part] of Object.entries({ metadata, spec })) watched(part, name, unread);
  model.validate();
  return [...Object.keys(others), ...unread];
}
