/**
 * The tables of the live test in PostgreSQL and here, the load that pgbench puts on them, and queries that print them alike on both sides.
 */

export interface SourceTable {
  name: string;
  /** PostgreSQL's columns and the key. */
  source: string;
  /** The columns here. */
  here: string;
  /** Expressions that print each column alike: PostgreSQL's, and DuckDB's where it differs. */
  cells: readonly (string | readonly [postgres: string, duckdb: string])[];
  order: string;
}

const interval = ["replace(lasted::text, 'mon', 'month')", "lasted::text"] as const;

/** DuckDB makes NULL of an empty list. */
const joined = (column: string) =>
  [
    `array_to_string(${column}, ',')`,
    `CASE WHEN ${column} IS NOT NULL THEN coalesce(array_to_string(${column}, ','), '') END`,
  ] as const;

export const sourceTables: readonly SourceTable[] = [
  {
    name: "pgbench_accounts",
    source: "", // pgbench makes it
    here: "aid INTEGER PRIMARY KEY, bid INTEGER, abalance INTEGER, filler VARCHAR",
    cells: ["aid::text", "bid::text", "abalance::text", "filler"],
    order: "aid",
  },
  {
    name: "pgbench_branches",
    source: "",
    here: "bid INTEGER PRIMARY KEY, bbalance INTEGER, filler VARCHAR",
    cells: ["bid::text", "bbalance::text", "filler"],
    order: "bid",
  },
  {
    name: "pgbench_tellers",
    source: "",
    here: "tid INTEGER PRIMARY KEY, bid INTEGER, tbalance INTEGER, filler VARCHAR",
    cells: ["tid::text", "bid::text", "tbalance::text", "filler"],
    order: "tid",
  },
  {
    // No key: every insert is a row, and nothing else ever happens to it.
    name: "pgbench_history",
    source: "",
    here: "tid INTEGER, bid INTEGER, aid INTEGER, delta INTEGER, mtime TIMESTAMP, filler VARCHAR",
    cells: ["tid::text", "bid::text", "aid::text", "delta::text", "mtime::text", "filler"],
    order: "mtime, tid, aid, delta",
  },
  {
    name: "various",
    source: `id bigint primary key, n numeric(20,4), price numeric(9,2), flag boolean, stamp timestamp, seen timestamptz, day date, clock time,
      lasted interval, code uuid, doc jsonb, raw bytea, big text, tags text[], counts int[], real8 double precision, small smallint, kind mood`,
    here: `id BIGINT PRIMARY KEY, n DECIMAL(20,4), price DECIMAL(9,2), flag BOOLEAN, stamp TIMESTAMP, seen TIMESTAMPTZ, day DATE, clock TIME,
      lasted INTERVAL, code UUID, doc JSON, raw BLOB, big VARCHAR, tags VARCHAR[], counts INTEGER[], real8 DOUBLE, small SMALLINT,
      kind ENUM('sad', 'ok', 'happy')`,
    cells: [
      "id::text",
      "n::text",
      "price::text",
      "flag::text",
      "stamp::text",
      ["(seen at time zone 'UTC')::text", "seen::TIMESTAMP::text"],
      "day::text",
      "clock::text",
      interval,
      "code::text",
      "doc::text",
      ["encode(raw, 'hex')", "lower(hex(raw))"],
      "big",
      joined("tags"),
      joined("counts"),
      ["real8::numeric::text", "real8::DECIMAL(18,3)::text"],
      "small::text",
      "kind::text",
    ],
    order: "id",
  },
  {
    name: "pair",
    source: "b text, a int, note text, primary key (a, b)",
    here: "b VARCHAR, a INTEGER, note VARCHAR, PRIMARY KEY (a, b)",
    cells: ["a::text", "b", "note"],
    order: "a, b",
  },
];

/** Before the connectors start. `accounts` of pgbench's 100,000 stay, to keep the snapshot short. */
export function setUp(accounts: number): string {
  const own = sourceTables.filter(({ source }) => source !== "");
  return `
delete from pgbench_accounts where aid > ${accounts};
create type mood as enum ('sad', 'ok', 'happy');
${own.map(({ name, source }) => `create table ${name} (${source});`).join("\n")}
alter table various alter big set storage external, alter raw set storage external, alter doc set storage external, alter tags set storage external;
insert into various ${variousRows("generate_series(1, 200) id")};
insert into pair select 'b' || i % 7, i, 'first' from generate_series(1, 200) i;
create table finished (id int primary key);
`;
}

/** Rows of every column; each third has large values, which PostgreSQL stores apart and does not send again with an update of others. */
function variousRows(from: string): string {
  const large = (what: string) =>
    `case when id % 3 = 0 then repeat(md5(id::text || '${what}'), 120) else md5(id::text) end`;
  return `select id, (id * 7919 % 1000003 - 500000) / 16.0, (id % 20000 - 10000) / 100.0, id % 2 = 0,
    timestamp '2024-02-29 12:34:56.789012' + id * interval '1.000037 s', timestamptz '1999-12-31 23:59:59.5+02' + id * interval '37 min',
    date '1970-01-01' + (id % 40000 - 5000)::int, time '00:00' + id * interval '1.234567 s',
    interval '1 year 2 months 3 days' + id * interval '1 s', md5(id::text)::uuid,
    jsonb_build_object('id', id, 'text', ${large("doc")}, 'list', jsonb_build_array(1, null, 'x')),
    decode(${large("raw")}, 'hex'), ${large("big")}, array[md5(id::text), 'a b', ${large("tags")}], array[id::int, null, -1], id + 0.125, (id % 30000)::smallint,
    (array['sad', 'ok', 'happy'])[1 + id % 3]::mood from ${from}`;
}

/**
 * Work on the other tables: inserts, updates of some columns, changed keys, deletes, rollbacks. Rows with large values keep their keys: without
 * REPLICA IDENTITY FULL the connector sends a row of a new key without them, and nobody can know them.
 */
export const ownScript = `
\\set id random(1, 400)
\\set fresh random(1000, 1000000)
\\set which random(1, 12)
\\if :which <= 3
insert into various ${variousRows("(values (:fresh::bigint)) as one (id)")} on conflict (id) do nothing;
\\elif :which <= 6
update various set n = n + 1, flag = not flag, seen = now(), small = null where id = :id;
\\elif :which = 7
update various set big = null, tags = '{}', lasted = '2 years 1 mon 00:00:00.5', doc = '"text"' where id = :id;
\\elif :which = 8
update various set id = id + 2000000 where id = :id and id % 3 <> 0;
\\elif :which = 9
delete from various where id = :id;
begin;
insert into pair values ('rolled back', :fresh, 'x');
rollback;
\\elif :which = 10
update pair set b = b || 'x' where a = :id;
\\elif :which = 11
delete from pair where a = :id;
\\else
insert into pair values ('new "quoted" é', :fresh, repeat('y', :which)) on conflict do nothing;
\\endif
`;

function printed(table: SourceTable, side: 0 | 1): string {
  const cells = table.cells.map((cell) => (typeof cell === "string" ? cell : cell[side]));
  return cells.map((cell) => `coalesce(${cell}, '<null>')`).join(", ");
}

export function postgresQuery(table: SourceTable): string {
  return `select concat_ws('|', ${printed(table, 0)}) from ${table.name} order by ${table.order}`;
}

export function ownQuery(table: SourceTable, prefix: string): string {
  return `SELECT concat_ws('|', ${printed(table, 1)}) FROM "${prefix}.public.${table.name}" ORDER BY ${table.order}`;
}

export function createTable(table: SourceTable, prefix: string): string {
  return `CREATE TABLE "${prefix}.public.${table.name}" (${table.here})`;
}
