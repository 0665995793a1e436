/** The shell's own commands: DuckDB's `.tables`, `.mode` …, psql's `\d`, `\dt`, `\q`, `\timing`, and Rowlog's `.topics`, `.groups`. */
import type { TableSummary } from "../http/services.ts";
import { CliError } from "./io.ts";
import { readScript, type SqlSession } from "./sql.ts";
import { SqlFailure } from "./sql_client.ts";
import { type OutputMode, outputModes, printRows } from "./table_text.ts";

export type DotOutcome = "done" | "failed" | "exit";

interface DotCommand {
  names: string[];
  usage: string;
  text: string;
  run(argument: string, session: SqlSession): Promise<DotOutcome | undefined> | DotOutcome | undefined;
}

export async function dotCommand(line: string, session: SqlSession): Promise<DotOutcome> {
  const [, name = "", argument = ""] = /^(\S+)\s*(.*)$/.exec(line.replace(/;\s*$/, "")) ?? [];
  const found = commands.find(({ names }) => names.includes(name.toLowerCase()));
  if (!found) {
    session.io.err(`rowlog: unknown command ${name}; .help lists them\n`);
    return "failed";
  }
  try {
    return (await found.run(argument.trim(), session)) ?? "done";
  } catch (error) {
    if (!(error instanceof CliError || error instanceof SqlFailure)) throw error;
    session.io.err(`rowlog: ${error.message}\n`);
    return "failed";
  }
}

const toggled =
  (field: "bail" | "echo" | "timer"): DotCommand["run"] =>
  (argument, session) => {
    session[field] = onOff(argument, session[field]);
    return undefined;
  };

const commands: DotCommand[] = [
  {
    names: [".help", "\\?"],
    usage: ".help",
    text: "this list",
    run: (_argument, session) =>
      session.write(commands.map((one) => `${one.usage.padEnd(24)} ${one.text}\n`).join("")) as never,
  },
  { names: [".exit", ".quit", ".q", "\\q"], usage: ".exit, \\q", text: "leave", run: () => "exit" },
  {
    names: [".tables", "\\dt"],
    usage: ".tables, \\dt",
    text: "list tables",
    async run(_argument, session) {
      const tables = await session.client.tables();
      const rows = tables.map((table) => [
        table.schema,
        table.name,
        table.topic,
        table.partitions,
        table.columns.length,
      ]);
      await list(session, ["schema", "name", "topic", "partitions", "columns"], rows);
    },
  },
  {
    names: [".schema"],
    usage: ".schema [TABLE]",
    text: "show the statement that made a table",
    async run(argument, session) {
      for (const table of await named(session, argument)) await session.write(`${table.sql.replace(/;?\s*$/, "")};\n`);
    },
  },
  {
    names: ["\\d", ".describe"],
    usage: "\\d [TABLE]",
    text: "list tables, or show a table's columns",
    async run(argument, session) {
      if (argument === "") return dotCommand(".tables", session);
      const [table] = await named(session, argument);
      const rows = table?.columns.map((column) => [
        column.name,
        column.type,
        table.key?.includes(column.name) ? "PRIMARY KEY" : column.not_null ? "NOT NULL" : "",
        column.default,
      ]);
      await list(session, ["column", "type", "null", "default"], rows ?? []);
      return undefined;
    },
  },
  {
    names: [".topics"],
    usage: ".topics",
    text: "list topics",
    async run(_argument, session) {
      const topics = await session.client.topics();
      await list(
        session,
        ["name", "kind", "partitions"],
        topics.map((topic) => [topic.name, topic.kind, topic.partitions]),
      );
    },
  },
  {
    names: [".groups"],
    usage: ".groups",
    text: "list consumer groups",
    async run(_argument, session) {
      const groups = await session.client.groups();
      await list(
        session,
        ["group", "state", "members"],
        groups.map((group) => [group.group_id, group.state, group.members]),
      );
    },
  },
  {
    names: [".databases"],
    usage: ".databases",
    text: "list databases",
    run: async (_argument, session) => ((await session.run("SHOW DATABASES")) ? "done" : "failed"),
  },
  {
    names: [".mode"],
    usage: ".mode MODE",
    text: `form of the output: ${outputModes.join(" ")}`,
    async run(argument, session) {
      if (argument === "") return void (await session.write(`${session.options.mode}\n`));
      if (!outputModes.includes(argument as OutputMode))
        throw new CliError(`"${argument}" is no mode; there are ${outputModes.join(", ")}`);
      session.options.mode = argument as OutputMode;
      return undefined;
    },
  },
  {
    names: [".timer", "\\timing"],
    usage: ".timer on|off, \\timing",
    text: "print how long each statement took",
    run: toggled("timer"),
  },
  {
    names: [".headers", ".header"],
    usage: ".headers on|off",
    text: "column names",
    run(argument, session) {
      session.options.header = onOff(argument, session.options.header);
      return undefined;
    },
  },
  {
    names: [".nullvalue"],
    usage: ".nullvalue TEXT",
    text: "what NULL is printed as",
    run(argument, session) {
      session.options.nullText = unquoted(argument);
      return undefined;
    },
  },
  {
    names: [".separator"],
    usage: ".separator TEXT",
    text: "between the fields of list and csv",
    run(argument, session) {
      session.options.separator = unquoted(argument).replaceAll("\\t", "\t");
      return undefined;
    },
  },
  {
    names: [".bail"],
    usage: ".bail on|off",
    text: "stop at the first error",
    run: toggled("bail"),
  },
  {
    names: [".echo"],
    usage: ".echo on|off",
    text: "print each statement first",
    run: toggled("echo"),
  },
  {
    names: [".output"],
    usage: ".output [FILE]",
    text: "write results to a file, or to the screen again",
    run(argument, session) {
      try {
        session.output(argument === "" || argument === "stdout" ? undefined : unquoted(argument));
      } catch (error) {
        throw new CliError(`cannot write ${argument}: ${(error as Error).message}`);
      }
      return undefined;
    },
  },
  {
    names: [".read", "\\i"],
    usage: ".read FILE, \\i FILE",
    text: "run a file",
    run: async (argument, session) => ((await session.script(readScript(unquoted(argument)))) ? "done" : "failed"),
  },
  {
    names: [".print"],
    usage: ".print TEXT",
    text: "print a text",
    run: async (argument, session) => void (await session.write(`${unquoted(argument)}\n`)),
  },
];

/** Lists of the shell's own commands keep a readable form whatever the mode is for. */
async function list(session: SqlSession, columns: string[], rows: unknown[][]): Promise<void> {
  const names = columns.map((name) => ({ name }));
  await session.write(printRows(names, rows, { ...session.options, nullText: "" }));
}

async function named(session: SqlSession, argument: string): Promise<TableSummary[]> {
  const tables = await session.client.tables();
  if (argument === "") return tables;
  const name = unquoted(argument);
  const found = tables.filter(
    (table) => table.topic === name || table.name === name || table.name.toLowerCase() === name.toLowerCase(),
  );
  if (found.length === 0) throw new CliError(`there is no table ${argument}; .tables lists them`);
  return found;
}

function onOff(argument: string, before: boolean): boolean {
  if (argument === "") return !before;
  if (/^(on|true|1|yes)$/i.test(argument)) return true;
  if (/^(off|false|0|no)$/i.test(argument)) return false;
  throw new CliError(`"${argument}" is neither on nor off`);
}

function unquoted(text: string): string {
  return /^(['"]).*\1$/s.test(text) ? text.slice(1, -1) : text;
}
