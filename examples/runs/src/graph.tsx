import { type FragmentType, graphql, readFragment } from "./generated/index.ts";

const graphFragment = graphql(`
  fragment Graph on Experiment {
    id
    name: uniqueName
    phase
    experimentGroup {
      id
      name: uniqueName
    }
    buildJob {
      id
      name: uniqueName
      phase
      nodeScheduled {
        id
        name
      }
    }
    jobs {
      nodes {
        id
        name: role
        phase
        nodeScheduled {
          id
          name
        }
      }
    }
  }
`);

interface Box {
  readonly kind: string;
  readonly id: string;
  readonly name: string | null;
  readonly phase?: string;
}

const [WIDTH, HEIGHT, GAP] = [128, 44, 22];

/** From left to right: the group, the run, what was built and run for it, and the machines. */
export function Graph({ run }: { run: FragmentType<typeof graphFragment> }) {
  const { experimentGroup: group, buildJob: build, jobs, ...rest } = readFragment(graphFragment, run);
  const experiment = { ...rest, kind: "run" };
  const works = [
    ...(build ? [{ ...build, kind: "build job" }] : []),
    ...(jobs?.nodes ?? []).map((job) => ({ ...job, kind: "job" })),
  ];
  const machines = new Map(
    works.flatMap(({ nodeScheduled: node }) => (node ? [[node.id, { ...node, kind: "machine" }]] : [])),
  );
  const columns: readonly Box[][] = [
    group ? [{ ...group, kind: "group" }] : [],
    [experiment],
    works,
    [...machines.values()],
  ];
  const links = [
    [group?.id, experiment.id],
    ...works.map((work) => [experiment.id, work.id]),
    ...works.map((work) => [work.id, work.nodeScheduled?.id]),
  ];

  const rows = Math.max(...columns.map((column) => column.length));
  const places = columns.flatMap((column, x) =>
    column.map((box, y) => ({
      ...box,
      x: x * (WIDTH + GAP),
      y: (y + (rows - column.length) / 2) * (HEIGHT + GAP),
    })),
  );
  const lines = links.flatMap(([from, to]) => {
    const [start, end] = [places.find(({ id }) => id === from), places.find(({ id }) => id === to)];
    if (!start || !end) return [];
    const fall = end.y - start.y;
    return `M${start.x + WIDTH} ${start.y + HEIGHT / 2}c${GAP / 2} 0 ${GAP / 2} ${fall} ${GAP} ${fall}`;
  });
  const size = `0 0 ${columns.length * (WIDTH + GAP) - GAP} ${rows * (HEIGHT + GAP) - GAP}`;
  return (
    <div className="scroll">
      <svg className="graph" viewBox={size} role="img" aria-label="Run graph">
        <path d={lines.join("")} />
        {places.map(({ kind, id, name, phase, x, y }) => (
          <svg key={id} x={x} y={y} width={WIDTH} height={HEIGHT} data-phase={phase}>
            <title>{name}</title>
            <rect x="0.5" y="0.5" width={WIDTH - 1} height={HEIGHT - 1} rx="6" />
            <text className="kind" x="8" y="17">
              {kind}
            </text>
            <text x="8" y="33">
              {name}
            </text>
          </svg>
        ))}
      </svg>
    </div>
  );
}
