/** Flags of `rowlog sql`, in DuckDB's spellings as well (`-json`, `-c`, `-nullvalue x`, with one dash or two). */
import { type Command, Option } from "commander";
import type { CommandContext } from "./kafka_commands.ts";
import { outputModes } from "./table_text.ts";

const modeFlags = outputModes.filter((mode) => mode !== "insert" && mode !== "duckbox");
const switches = ["header", "noheader", "batch", "interactive", "bail", "echo", "no-stdin", "readonly"];
const values = ["nullvalue", "separator", "cmd", "init", "format", "url"];

/** Turns DuckDB's one-dash long options of the `sql` command into two-dash ones, before commander reads them as letters. */
export function duckdbSpelling(argv: readonly string[]): string[] {
  if (argv[0] !== "sql") return [...argv];
  const known = new Set<string>([...modeFlags, ...switches, ...values]);
  return argv.map((argument) => (/^-[a-z]/.test(argument) && known.has(argument.slice(1)) ? `-${argument}` : argument));
}

export function addSqlCommand(program: Command, { io, act }: CommandContext): void {
  const command = program
    .command("sql")
    .description("run SQL on a node: -c, -f, standard input, or an interactive shell")
    .option("--url <URL>", "the node's HTTP address [env: ROWLOG_URL] [default: http://127.0.0.1:8080]")
    .option("-c, --command <SQL>", "run this and end; may be repeated", (value: string, before: string[] = []) => [
      ...before,
      value,
    ])
    .option("-f, --file <FILE>", "run a file and end")
    .addOption(new Option("--format <MODE>", "form of the output [default: table]").choices(outputModes))
    .option("--cmd <SQL>", "run this first")
    .option("--init <FILE>", "run this file first instead of ~/.rowlogrc")
    .option("--noheader", "no column names")
    .option("--header", "column names (the default)")
    .option("--nullvalue <TEXT>", "what NULL is printed as")
    .option("--separator <TEXT>", "between fields of list and csv")
    .option("--bail", "end at the first error")
    .option("--echo", "print each statement first")
    .option("--timer", "print how long each statement took")
    .option("--batch", "never interactive")
    .option("--interactive", "interactive, terminal or not")
    .option("--no-stdin", "do not read standard input")
    .addOption(new Option("--readonly", "accepted for DuckDB").hideHelp())
    .option("--no-progress", "no bar");
  for (const mode of modeFlags) command.addOption(new Option(`--${mode}`, `as --format ${mode}`).hideHelp());
  command.addHelpText("after", `\nOutput modes, also as flags: ${modeFlags.map((mode) => `-${mode}`).join(" ")}`);
  command.action((flags) => act(async () => (await import("./sql.ts")).sql(flags, io)));
}
