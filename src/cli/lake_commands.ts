/** Flags of the commands that work on a lake's files: `backup`, `restore`, `check`, `rebuild`. */
import type { Command } from "commander";
import type { CommandContext } from "./kafka_commands.ts";

export function addLakeCommands(program: Command, { io, act }: CommandContext): void {
  program
    .command("backup")
    .argument("<LAKE>", "the lake's folder; a node may be running on it")
    .argument("<DIR>", "where the backup is; made if need be, and brought up to date if it is there")
    .description("copy a lake, with checksums")
    .option(
      "--url <URL>",
      "HTTP address of the node that runs on the lake [default: what the lake says, else ROWLOG_URL]",
    )
    .action((lake, directory, flags) =>
      act(async () => (await import("./backup.ts")).backup(lake, directory, flags, io)),
    );
  program
    .command("restore")
    .argument("<DIR>", "a backup")
    .argument("[LAKE]", "the folder to make; must be absent or empty")
    .description("make a lake out of a backup, and check it on the way")
    .option("--dry", "check the backup only")
    .action((directory, lake, flags) =>
      act(async () => (await import("./restore.ts")).restore(directory, lake, flags, io)),
    );
  program
    .command("check")
    .argument("<LAKE>", "the lake's folder; no node may be running on it")
    .description("read a lake's logs to the last byte and compare its tables with them; nothing is changed")
    .option("--no-tables", "logs only")
    .option(
      "--scratch <DIR>",
      "where tables are made anew for the comparison; they take about their size [default: the system's folder for temporary files]",
    )
    .action((lake, flags) => act(async () => (await import("./check.ts")).check(lake, flags, io)));
  program
    .command("rebuild")
    .argument("<LAKE>", "the lake's folder; no node may be running on it")
    .argument("[TABLE...]", "tables, by the names of their topics; all of them without a name")
    .description("make tables anew from their logs; one whose log does not tell all of it is refused")
    .option("--discard-database", "put DuckDB's file aside and make all tables from their logs alone")
    .action((lake, names, flags) => act(async () => (await import("./rebuild.ts")).rebuild(lake, names, flags, io)));
}
