/** The flags of `topic …`, `group …`, `produce` and `consume`. What they do is in topics.ts, groups.ts, produce.ts, consume.ts. */
import { Argument, type Command, Option } from "commander";
import { addKafkaFlags, collect } from "./kafka_flags.ts";
import { listFormats } from "./output.ts";

/** Runs a command's work and keeps its exit code. */
export type Act = (work: () => Promise<number>) => Promise<void>;

export interface CommandContext {
  io: import("./io.ts").Io;
  act: Act;
}

const formatOption = () => new Option("--format <FORMAT>", "form of the output").choices(listFormats).default("table");

export function addKafkaCommands(program: Command, context: CommandContext): void {
  addTopicCommands(program, context);
  addGroupCommands(program, context);
  addProduce(program.command("produce").description("write records to a topic (kcat's and rpk's flags)"), context);
  addConsume(program.command("consume").description("read records of topics (kcat's and rpk's flags)"), context);
}

function addTopicCommands(program: Command, { io, act }: CommandContext): void {
  const topic = program.command("topic").alias("topics").description("create, look at and delete topics");
  const sub = (name: string, text: string) =>
    addKafkaFlags(topic.command(name).description(text)).addOption(formatOption());
  const topics = () => import("./topics.ts");
  sub("list", "list topics")
    .alias("ls")
    .argument("[TOPIC...]")
    .option("-i, --internal", "internal topics too")
    .action((names, flags) => act(async () => (await topics()).topicList(names, flags, io)));
  sub("create", "create topics")
    .argument("<TOPIC...>")
    .option("-p, --partitions <N>", "partitions [default: the node's --num-partitions]")
    .option("-r, --replicas <N>", "replicas; one node has 1")
    .addOption(new Option("--replication-factor <N>", "the same, as kafka-topics.sh calls it").conflicts("replicas"))
    .option("-c, --topic-config <KEY=VALUE>", "a topic config; may be repeated", collect)
    .option("--config <KEY=VALUE>", "the same, as kafka-topics.sh calls it", collect)
    .option("--if-not-exists", "a topic that exists is no failure")
    .option("-d, --dry", "check only")
    .action((names, flags) => {
      const config = [...(flags.topicConfig ?? []), ...(flags.config ?? [])];
      const replicas = flags.replicas ?? flags.replicationFactor;
      return act(async () => (await topics()).topicCreate(names, { ...flags, config, replicas }, io));
    });
  sub("describe", "show a topic's configs and partitions")
    .alias("info")
    .argument("<TOPIC...>")
    .option("-s, --print-summary", "the summary")
    .option("-c, --print-configs", "the configs")
    .option("-p, --print-partitions", "the partitions")
    .option("-a, --print-all", "everything")
    .action((names, flags) => act(async () => (await topics()).topicDescribe(names, flags, io)));
  sub("delete", "delete topics and their records")
    .argument("<TOPIC...>")
    .option("--if-exists", "a topic that does not exist is no failure")
    .action((names, flags) => act(async () => (await topics()).topicDelete(names, flags, io)));
  sub("offsets", "show the first and last offsets, or the offsets at a time")
    .argument("<TOPIC...>")
    .option("--at <OFFSET>", "a place in the grammar of consume -o, for example @2026-01-31 or @-1h")
    .option("-p, --partition <N,...>", "these partitions only", collect)
    .action((names, flags) => act(async () => (await topics()).topicOffsets(names, flags, io)));
  sub("alter-config", "set or reset topic configs")
    .argument("<TOPIC...>")
    .option("-s, --set <KEY=VALUE>", "set a config; may be repeated", collect)
    .option("-d, --delete <KEY>", "reset a config to its default; may be repeated", collect)
    .action((names, flags) => act(async () => (await topics()).topicAlterConfig(names, flags, io)));
  sub("add-partitions", "add partitions to topics")
    .argument("<TOPIC...>")
    .requiredOption("-n, --num <N>", "how many more")
    .action((names, flags) => act(async () => (await topics()).topicAddPartitions(names, flags, io)));
  sub("trim-prefix", "delete the oldest records of a topic")
    .argument("<TOPIC>")
    .requiredOption("-o, --offset <OFFSET>", "first offset that stays, in the grammar of consume -o")
    .option("-p, --partition <N,...>", "these partitions only", collect)
    .action((name, flags) => act(async () => (await topics()).topicTrimPrefix(name, flags, io)));
  addProduce(topic.command("produce").description("write records to a topic"), { io, act });
  addConsume(topic.command("consume").description("read records of topics"), { io, act });
}

function addGroupCommands(program: Command, { io, act }: CommandContext): void {
  const group = program.command("group").alias("groups").description("look at, move and delete consumer groups");
  const sub = (name: string, text: string) =>
    addKafkaFlags(group.command(name).description(text)).addOption(formatOption());
  const groups = () => import("./groups.ts");
  sub("list", "list consumer groups")
    .alias("ls")
    .option("-s, --states <STATE,...>", "only groups in these states")
    .action((flags) => act(async () => (await groups()).groupList(flags, io)));
  sub("describe", "show members, offsets and lag")
    .argument("<GROUP...>")
    .option("-s, --print-summary", "the summary only")
    .option("--lag-only", "the partitions only")
    .action((names, flags) => act(async () => (await groups()).groupDescribe(names, flags, io)));
  sub("seek", "move the committed offsets of a group without members")
    .alias("reset-offsets")
    .argument("<GROUP>")
    .option("--to <PLACE>", "start, end, an offset, or @TIME (grammar of consume -o)")
    .option("--to-group <GROUP>", "where another group is")
    .option("--topics <TOPIC,...>", "these topics, with all their partitions [default: what the group has committed]")
    .option("--to-earliest", "as --to start")
    .option("--to-latest", "as --to end")
    .option("--to-offset <N>", "to an offset")
    .option("--to-datetime <TIME>", "to a time, for example 2026-01-31T12:00:00Z")
    .option("--shift-by <N>", "forward, or back with a minus sign")
    .option("--dry-run", "show what would be, change nothing")
    .action((name, flags) => act(async () => (await groups()).groupSeek(name, flags, io)));
  sub("delete", "delete consumer groups without members")
    .argument("<GROUP...>")
    .action((names, flags) => act(async () => (await groups()).groupDelete(names, flags, io)));
}

function addProduce(command: Command, { io, act }: CommandContext): void {
  addKafkaFlags(command)
    .addArgument(new Argument("[TOPIC_OR_FILE...]", "the topic (unless -t), then files; without files: standard input"))
    .option("-t, --topic <TOPIC>", "the topic")
    .option("-p, --partition <N>", "partition of every record [default: by key]")
    .option("-k, --key <TEXT>", "key of every record")
    .option("-K <DELIMITER>", "the key stands in front of this delimiter on each line")
    .option("-D <DELIMITER>", "end of a record [default: \\n]")
    .option("-H, --header <NAME=VALUE>", "a header of every record (NAME:VALUE too); may be repeated", collect)
    .option("-Z, --tombstone", "an empty value is a null value")
    .option("-z, --compression <CODEC>", "none, gzip, snappy, lz4 or zstd")
    .option("--acks <ACKS>", "0, 1 or all [default: all]")
    .option("-c, --count <N>", "end after this many records")
    .option("-l, --lines", "a file holds one record a line; without it a file is one record")
    .option("-T, --tee", "write the records to standard output too")
    .option("-f, --format <FORMAT>", "form of an input line: %k, %v and %p with text between, for example '%k %v'")
    .option("-o, --output-format <FORMAT>", "what to print for each record: %t %p %o %d")
    .option("--no-progress", "no bar")
    .addOption(
      new Option("--allow-auto-topic-creation", "accepted for rpk; the node decides (--auto-create-topics)").hideHelp(),
    )
    .addOption(new Option("-P", "accepted for kcat").hideHelp())
    .action((names, flags) => act(async () => (await import("./produce.ts")).produce(names, flags, io)));
}

const consumeHelp = `
Offsets (-o), kcat's and rpk's:
  start, end, stored      begin at an end of the log, or where the group is
  42, -10, +5             offset 42; the last ten; five after the start
  42:, :42, 5:10, :end    from, up to (not including), both, up to the present end
  @TIME, @T1:T2, @-1h     from a time; milliseconds, seconds, a date, RFC 3339, or a duration ago
  s@MS -o e@MS            from and up to a time in milliseconds

Format (-f):
  %s %v value   %k key   %t topic   %p partition   %o offset   %T %d timestamp in ms   %d{iso}   %h headers
  %S %V %K lengths   %R value length as 4 bytes   %h{%k=%v } each header   %% \\n \\t \\xNN
  {hex} {base64} {json} after text, {hex64} {big32} {little16} {byte} after numbers`;

function addConsume(command: Command, { io, act }: CommandContext): void {
  addKafkaFlags(command)
    .argument("[TOPIC...]")
    .option("-t, --topic <TOPIC>", "a topic; may be repeated", collect)
    .option("-p, --partition <N,...>", "these partitions only", collect)
    .option("-o, --offset <OFFSET>", "where to begin and end; see below [default: start]", collect)
    .option("--from-beginning", "as -o start")
    .option("-e, --exit", "end at the present end of the topics")
    .option("-n, --num <N>", "end after this many records")
    .option("-c, --count <N>", "the same, as kcat calls it")
    .option("--max-messages <N>", "the same, as kafka-console-consumer.sh calls it")
    .option("-g, --group <GROUP>", "read as a member of a consumer group and commit")
    .option("-G <GROUP>", "the same, as kcat calls it")
    .option("-f, --format <FORMAT>", "json, or a format string; see below [default: json]")
    .option("-J", "kcat's JSON envelope")
    .option("-K <DELIMITER>", "plain text: the key, this delimiter, the value")
    .option("-D <DELIMITER>", "plain text: end of a record [default: \\n]")
    .option("-Z", "print null as NULL")
    .option("-r, --regex", "topics are regular expressions (kcat: begin with ^)")
    .option("--read-committed", "no records of open or aborted transactions")
    .option("--isolation-level <LEVEL>", "read_committed or read_uncommitted")
    .option("--pretty-print", "JSON over several lines [default: on a terminal]")
    .option("--no-pretty-print", "JSON on one line")
    .option("--no-progress", "no bar")
    .addOption(new Option("-C", "accepted for kcat").hideHelp())
    .addOption(new Option("-u, --unbuffered", "accepted for kcat").hideHelp())
    .addHelpText("after", consumeHelp)
    .action((names, flags) =>
      act(async () => (await import("./consume.ts")).consume(names, { ...flags, group: flags.group ?? flags.G }, io)),
    );
}
