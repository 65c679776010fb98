import { useRef } from "react";
import { type Address, hrefOf } from "./address.ts";
import { type FragmentType, graphql, readFragment } from "./generated/index.ts";
import { useWidthOf } from "./width.ts";

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

interface GraphProps {
  readonly run: FragmentType<typeof graphFragment>;
  readonly address: Address;
}

interface Box {
  readonly kind: string;
  readonly id: string;
  readonly name: string | null;
  readonly phase?: string;
  /** Where it leads. */
  readonly href: string;
  /** Ids of the boxes from which lines lead to this one. */
  readonly from: readonly (string | undefined)[];
}

const [WIDTH, HEIGHT, GAP] = [128, 44, 22];

/** How much smaller than drawn the columns are still read. */
const READABLE = 0.8;

/** Indentation of each column where all boxes stand below each other. */
const INDENT = 24;

/** From left to right: the group, the run, its builds and jobs, and the machines. */
export function Graph({ run, address }: GraphProps) {
  const { experimentGroup: group, buildJob: build, jobs, ...rest } = readFragment(graphFragment, run);
  const box = useRef<HTMLDivElement>(null);
  const width = useWidthOf(box);

  const groups = group ? [{ ...group, kind: "group", href: hrefOf({ list: group.name }), from: [] }] : [];
  const [overview, log] = [hrefOf({ ...address, show: undefined }), hrefOf({ ...address, show: "log" })];
  const experiment: Box = { ...rest, kind: "run", href: overview, from: [group?.id] };
  const works = [
    ...(build ? [{ ...build, kind: "build job", href: hrefOf({ ...address, build: build.name }) }] : []),
    ...(jobs?.nodes ?? []).map((job) => ({ ...job, kind: "job", href: log })),
  ].map((work) => ({ ...work, from: [experiment.id] }));
  const machinesOf = (places: typeof works): Box[] =>
    [...new Map(places.flatMap(({ nodeScheduled: node }) => (node ? [[node.id, node]] : []))).values()].map(
      (node) => ({
        ...node,
        kind: "machine",
        href: hrefOf({ ...address, machine: node.name }),
        from: places.filter((work) => work.nodeScheduled?.id === node.id).map(({ id }) => id),
      }),
    );

  const columns: readonly (readonly Box[])[] = [groups, [experiment], works, machinesOf(works)];
  const wide = columns.length * (WIDTH + GAP) - GAP;
  const isNarrow = width > 0 && width < READABLE * wide;
  const places = isNarrow
    ? below([
        ...groups.map((each) => [each, 0] as const),
        [experiment, 1],
        // Each with its machine, though others run there, too.
        ...works.flatMap((work) => [
          [work, 2] as const,
          ...machinesOf([work]).map((each) => [{ ...each, id: `${work.id} ${each.id}` }, 3] as const),
        ]),
      ])
    : beside(columns);
  const lines = places.flatMap((end) =>
    end.from.flatMap((id) => {
      const start = places.find((each) => each.id === id);
      if (!start) return [];
      const fall = end.y - start.y;
      return isNarrow
        ? `M${start.x + INDENT / 2} ${start.y + HEIGHT}V${end.y + HEIGHT / 2}H${end.x}`
        : `M${start.x + WIDTH} ${start.y + HEIGHT / 2}c${GAP / 2} 0 ${GAP / 2} ${fall} ${GAP} ${fall}`;
    }),
  );
  const across = isNarrow ? 3 * INDENT + 2 * WIDTH : wide;
  const height = Math.max(...places.map(({ y }) => y)) + HEIGHT;
  return (
    <div className="scroll" ref={box}>
      <svg
        className="graph"
        viewBox={`0 0 ${across} ${height}`}
        style={{ maxWidth: across * 1.2 }}
        role="group"
        aria-label="Run graph"
      >
        <path d={lines.join("")} />
        {places.map(({ kind, id, name, phase, href, x, y }) => (
          <a key={id} href={href} aria-label={`${kind} ${name}`} data-phase={phase}>
            <svg x={x} y={y} width={isNarrow ? 2 * WIDTH : WIDTH} height={HEIGHT}>
              <rect x="0.5" y="0.5" width={(isNarrow ? 2 : 1) * WIDTH - 1} height={HEIGHT - 1} rx="6" />
              <text className="kind" x="8" y="17">
                {kind}
              </text>{" "}
              <text x="8" y="33">
                {name}
              </text>
            </svg>
          </a>
        ))}
      </svg>
    </div>
  );
}

/** The columns from left to right, each in the middle of the height. */
function beside(columns: readonly (readonly Box[])[]) {
  const rows = Math.max(...columns.map((column) => column.length));
  return columns.flatMap((column, x) =>
    column.map((each, y) => ({
      ...each,
      x: x * (WIDTH + GAP),
      y: (y + (rows - column.length) / 2) * (HEIGHT + GAP),
    })),
  );
}

/** All boxes below each other, indented by their depth: for narrow pages. */
const below = (boxes: readonly (readonly [Box, number])[]) =>
  boxes.map(([each, depth], at) => ({ ...each, x: depth * INDENT, y: at * (HEIGHT + 10) }));
