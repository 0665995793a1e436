/**
 * The command line: which commands there are and which flags each takes. The work is in one file per command, loaded
 * only when it runs, so that `--help` and small commands start fast. Exit codes: 0 done, 1 failure, 2 wrong usage,
 * 130 interrupted.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { addCompletion } from "./completion.ts";
import { CliError, type Io, UsageError } from "./io.ts";
import { addKafkaCommands } from "./kafka_commands.ts";
import { addLakeCommands } from "./lake_commands.ts";
import { environmentName, type NodeOption, type NodeOptionName, nodeOptionEntries } from "./options.ts";
import type { ServeFlags, StartNode } from "./serve.ts";
import { addSqlCommand, duckdbSpelling } from "./sql_command.ts";
import { version } from "./version.ts";

export interface ProgramDependencies {
  startNode: StartNode;
}

/** Runs one command line (without the program's own name) and gives the exit code; never throws, never exits. */
export async function run(argv: readonly string[], io: Io, dependencies: ProgramDependencies): Promise<number> {
  let code = 0;
  const program = createProgram(
    io,
    dependencies,
    (result) => {
      code = result;
    },
    argv,
  );
  try {
    await program.parseAsync(duckdbSpelling(argv), { from: "user" });
    return code;
  } catch (error) {
    return reportError(error, io);
  }
}

function reportError(error: unknown, io: Io): number {
  if (error instanceof CommanderError) {
    // Commander has printed its message already; help and version are no errors.
    return error.exitCode === 0 || error.code === "commander.helpDisplayed" ? 0 : 2;
  }
  if (error instanceof CliError) {
    if (error.message !== "") io.err(`rowlog: ${error.message}\n`);
    return error.exitCode;
  }
  if (error instanceof Error && (error.name === "FormatError" || error.name === "OffsetSyntaxError")) {
    io.err(`rowlog: ${error.message}\n`);
    return 2;
  }
  if (io.signal.aborted) return 130;
  io.err(`rowlog: ${error instanceof Error ? error.message : String(error)}\n`);
  if (io.environment.ROWLOG_DEBUG && error instanceof Error) io.err(`${error.stack}\n`);
  return 1;
}

/** The whole tree of commands; `done` gets the exit code of the one that ran. */
export function createProgram(
  io: Io,
  dependencies: ProgramDependencies,
  done: (code: number) => void,
  argv: readonly string[],
): Command {
  const program = new Command("rowlog");
  program
    .description("A Kafka topic is a SQL table. Without a command: start a node (serve).")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help; `rowlog COMMAND --help` for one command")
    .exitOverride()
    .configureOutput({ writeOut: (text) => void io.out(text), writeErr: (text) => io.err(text) })
    .showSuggestionAfterError();
  const act = async (work: () => Promise<number>) => {
    io.watchInterrupt();
    done(await work());
  };
  addServe(program, io, dependencies, done, argv);
  addSqlCommand(program, { io, act });
  addKafkaCommands(program, { io, act });
  addLakeCommands(program, { io, act });
  addConfig(program, io, done);
  addCompletion(program, { io, act });
  return program;
}

function addServe(
  program: Command,
  io: Io,
  dependencies: ProgramDependencies,
  done: (code: number) => void,
  argv: readonly string[],
): void {
  const command = program
    .command("serve", { isDefault: true })
    .argument("[LAKE]", lakeText())
    .description("start a node")
    // A mistyped command with arguments of its own arrives here; it is told apart below.
    .allowExcessArguments(true);
  addNodeFlags(command);
  command.action(async (lake: string | undefined, values: Record<string, string>) => {
    const named = argv.includes("serve");
    if (command.args.length > 1)
      throw new UsageError(
        named
          ? `serve takes one LAKE, not ${command.args.length}: ${command.args.join(" ")}`
          : `unknown command "${lake}"; see ${io.programName} --help`,
      );
    const { serve } = await import("./serve.ts");
    done(await serve(serveFlags(lake, values, named), io, dependencies.startNode));
  });
}

function addConfig(program: Command, io: Io, done: (code: number) => void): void {
  const config = program.command("config").description("look at a node's configuration");
  const print = config
    .command("print")
    .argument("[LAKE]", lakeText())
    .description("print every value in effect and its origin");
  addNodeFlags(print);
  print.action(async (lake: string | undefined, values: Record<string, string>) => {
    const { printConfig } = await import("./serve.ts");
    done(await printConfig(serveFlags(lake, values, true), io));
  });
}

function addNodeFlags(command: Command): void {
  command.option(
    "--config <FILE>",
    "read options from a file (key = value lines, or JSON); flags and variables win [env: ROWLOG_CONFIG]",
  );
  for (const [name, option] of nodeOptionEntries) {
    if (name === "lake") continue;
    for (const flag of nodeFlags(option)) command.addOption(flag);
  }
}

/** The commander option (two for a switch) of one table entry. Defaults stay out: precedence is decided in config.ts. */
function nodeFlags(option: NodeOption<unknown>): Option[] {
  const text = `${option.description} [env: ${environmentName(option.flag)}] [default: ${defaultText(option)}]`;
  if (option.kind.placeholder === "")
    return [new Option(`--${option.flag}`, text), new Option(`--no-${option.flag}`).hideHelp()];
  return [new Option(`--${option.flag} <${option.kind.placeholder}>`, text)];
}

export function defaultText(option: NodeOption<unknown>): string {
  return option.defaultText ?? option.kind.show(option.default);
}

function lakeText(): string {
  const lake = nodeOptionEntries.find(([name]) => name === "lake")?.[1];
  return `${lake?.description} [env: ROWLOG_LAKE] [default: lake]`;
}

function serveFlags(lake: string | undefined, values: Record<string, unknown>, named: boolean): ServeFlags {
  const options: Partial<Record<NodeOptionName, string>> = {};
  if (lake !== undefined) options.lake = lake;
  for (const [name, option] of nodeOptionEntries) {
    const value = values[camelCase(option.flag)];
    if (value !== undefined) options[name] = String(value);
  }
  return { options, config: values.config as string | undefined, named };
}

function camelCase(flag: string): string {
  return flag.replaceAll(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

/** For flags with a kind of the option table: refuses with commander's own form of message. */
export function parsed<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
    }
  };
}
