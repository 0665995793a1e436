/**
 * What Kafka's tools are asked to do, in order, on a broker that has nothing yet. Later steps see what earlier ones made. The outputs on
 * Apache Kafka are in tests/vectors/tools.json.
 */

export interface Step {
  readonly name: string;
  readonly tool: string;
  /** BOOTSTRAP and FOLDER are replaced by the broker's address and by a folder for the files that steps write. */
  readonly parameters: readonly string[];
  readonly input?: string;
  /** Written to FOLDER/NAME before the step. */
  readonly file?: { name: string; text: string };
  /** How the output is compared: whole after normalizing (the default), or its lines without regard to their order. */
  readonly compare?: "lines" | "overrides" | "api-versions" | "log-dirs" | "performance";
}

const server = ["--bootstrap-server", "BOOTSTRAP"];

function step(name: string, tool: string, parameters: string, more: Partial<Step> = {}): Step {
  return { name, tool, parameters: [...server, ...parameters.split(" ").filter((word) => word !== "")], ...more };
}

const topics = (name: string, parameters: string, more?: Partial<Step>) => step(name, "topics", parameters, more);
const configs = (name: string, parameters: string, more?: Partial<Step>) => step(name, "configs", parameters, more);
const groups = (name: string, parameters: string, more?: Partial<Step>) =>
  step(name, "consumer-groups", parameters, more);

const keyed = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"];
const properties = ["print.key", "print.value", "print.partition", "print.offset", "print.headers"];
const printAll = properties.flatMap((name) => ["--formatter-property", `${name}=true`]);

function consume(name: string, parameters: string, more: Partial<Step> = {}): Step {
  const consumer = step(name, "console-consumer", parameters, more);
  return { ...consumer, parameters: [...consumer.parameters, ...printAll] };
}

const topicSteps: readonly Step[] = [
  topics("create", "--create --topic t --partitions 3 --config retention.ms=86400000 --config segment.bytes=1048576"),
  topics("create with replication factor 1", "--create --topic one --partitions 1 --replication-factor 1"),
  topics("create with the broker's defaults", "--create --topic with_underscore.and-dot"),
  topics("create what exists", "--create --topic t --partitions 3"),
  topics("create what exists, if not exists", "--create --topic t --partitions 3 --if-not-exists"),
  topics("create with replication factor 3", "--create --topic three --partitions 1 --replication-factor 3"),
  topics("create with an illegal name", "--create --topic a:b --partitions 1"),
  topics("create with no partitions", "--create --topic none --partitions 0"),
  topics("create with an unknown config", "--create --topic bad --partitions 1 --config no.such=1"),
  topics("create with a wrong config", "--create --topic bad --partitions 1 --config retention.ms=soon"),
  topics("list", "--list"),
  topics("describe one", "--describe --topic t"),
  topics("describe all", "--describe", { compare: "lines" }),
  topics("describe overrides", "--describe --topics-with-overrides", { compare: "overrides" }),
  topics("describe under-replicated", "--describe --under-replicated-partitions"),
  topics("describe an unknown one", "--describe --topic unknown"),
  topics("add partitions", "--alter --topic t --partitions 5"),
  topics("take partitions away", "--alter --topic t --partitions 2"),
  topics("alter an unknown one", "--alter --topic unknown --partitions 2"),
  topics("describe after adding", "--describe --topic t"),
  topics("delete", "--delete --topic with_underscore.and-dot"),
  topics("delete an unknown one", "--delete --topic unknown"),
  topics("list after deleting", "--list"),
];

const configSteps: readonly Step[] = [
  configs("describe a topic", "--describe --entity-type topics --entity-name t"),
  configs("describe all of a topic", "--describe --entity-type topics --entity-name one --all", { compare: "lines" }),
  configs(
    "add",
    "--alter --entity-type topics --entity-name t --add-config retention.ms=1000000,max.message.bytes=2000000",
  ),
  configs("add a list", "--alter --entity-type topics --entity-name t --add-config cleanup.policy=[compact,delete]"),
  configs("describe what was added", "--describe --entity-type topics --entity-name t"),
  configs("delete", "--alter --entity-type topics --entity-name t --delete-config max.message.bytes,cleanup.policy"),
  configs("delete what is not set", "--alter --entity-type topics --entity-name t --delete-config flush.ms"),
  configs("add an unknown one", "--alter --entity-type topics --entity-name t --add-config no.such=1"),
  configs("add a wrong value", "--alter --entity-type topics --entity-name t --add-config segment.bytes=small"),
  configs("add to an unknown topic", "--alter --entity-type topics --entity-name unknown --add-config retention.ms=1"),
  configs("describe in the end", "--describe --entity-type topics --entity-name t"),
];

const recordSteps: readonly Step[] = [
  step("console producer", "console-producer", "--topic t", {
    input: "a:one\nb:two\nc:three\na:four\n",
    // Lingering keeps a partition's records in one batch, whose size a later step compares.
    parameters: [...server, "--topic", "t", "--command-property", "linger.ms=500", ...keyed],
  }),
  step("console producer with headers", "console-producer", "", {
    input: "x:1,y:2|k|with headers\nx:3|k2|with another\n",
    parameters: [
      ...[...server, "--topic", "one", "--compression-codec", "zstd", "--reader-property", "parse.key=true"],
      ...["--reader-property", "parse.headers=true", "--reader-property", "key.separator=|"],
      ...["--reader-property", "headers.delimiter=|"],
    ],
  }),
  step("console producer, null marker and acks 1", "console-producer", "", {
    input: "k:NULL\n",
    parameters: [
      ...server,
      "--topic",
      "one",
      "--request-required-acks",
      "1",
      ...keyed,
      "--reader-property",
      "null.marker=NULL",
    ],
  }),
  consume("console consumer", "--topic t --from-beginning --max-messages 4 --timeout-ms 20000", { compare: "lines" }),
  consume(
    "console consumer of one partition",
    "--topic one --partition 0 --offset 1 --max-messages 2 --timeout-ms 20000",
  ),
  consume("console consumer in a group", "--topic one --from-beginning --group g --max-messages 3 --timeout-ms 20000"),
  step("get offsets", "get-offsets", "--topic t"),
  step("get earliest offsets", "get-offsets", "--topic t --time earliest"),
  step("get offsets of the latest timestamp", "get-offsets", "--topic one --time max-timestamp"),
  step("get offsets of a time", "get-offsets", "--topic one --time 0"),
  step("get offsets of a time to come", "get-offsets", "--topic one --time 99999999999999"),
  step("get offsets of some partitions", "get-offsets", "--topic-partitions t:0-2,one:0"),
  step("delete records", "delete-records", "--offset-json-file FOLDER/delete.json", {
    file: { name: "delete.json", text: '{"partitions":[{"topic":"one","partition":0,"offset":1}],"version":1}' },
  }),
  step("get earliest offsets after deleting", "get-offsets", "--topic one --time earliest"),
  step("delete records past the end", "delete-records", "--offset-json-file FOLDER/past.json", {
    file: { name: "past.json", text: '{"partitions":[{"topic":"one","partition":0,"offset":99}],"version":1}' },
  }),
  step("log dirs", "log-dirs", "--describe --topic-list t", { compare: "log-dirs" }),
  step("delete all records", "delete-records", "--offset-json-file FOLDER/all.json", {
    file: { name: "all.json", text: '{"partitions":[{"topic":"t","partition":1,"offset":-1}],"version":1}' },
  }),
  step("get offsets after deleting all", "get-offsets", "--topic t --time earliest"),
];

const groupSteps: readonly Step[] = [
  groups("list", "--list", { compare: "lines" }),
  groups("list with states", "--list --state", { compare: "lines" }),
  groups("describe", "--describe --group g"),
  groups("describe members", "--describe --group g --members"),
  groups("describe state", "--describe --group g --state"),
  groups("describe an unknown one", "--describe --group unknown"),
  groups("reset, dry run", "--reset-offsets --group g --topic one --to-offset 2 --dry-run"),
  groups("reset to earliest", "--reset-offsets --group g --topic one --to-earliest --execute"),
  groups("reset to an offset", "--reset-offsets --group g --topic one:0 --to-offset 2 --execute"),
  groups("reset by shifting", "--reset-offsets --group g --topic one --shift-by -1 --execute"),
  groups("reset to a time", "--reset-offsets --group g --topic one --to-datetime 2001-01-01T00:00:00.000 --execute"),
  groups("reset to latest", "--reset-offsets --group g --topic one --to-latest --execute"),
  groups("reset another topic", "--reset-offsets --group g --topic t --to-earliest --execute", { compare: "lines" }),
  groups("reset of a new group", "--reset-offsets --group h --topic one --to-earliest --execute"),
  groups("describe after resets", "--describe --group g --offsets", { compare: "lines" }),
  groups("delete offsets", "--delete-offsets --group g --topic t", { compare: "lines" }),
  groups("describe after deleting offsets", "--describe --group g"),
  groups("delete", "--delete --group g"),
  groups("delete an unknown one", "--delete --group unknown"),
  groups("list in the end", "--list", { compare: "lines" }),
];

const otherSteps: readonly Step[] = [
  step("cluster id", "cluster", "", { parameters: ["cluster-id", ...server] }),
  step("api versions", "broker-api-versions", "", { compare: "api-versions" }),
  topics("create for performance", "--create --topic perf --partitions 2"),
  step("producer performance", "producer-perf", "", {
    compare: "performance",
    parameters: [
      ...["--topic", "perf", "--num-records", "20000", "--record-size", "200", "--throughput", "-1"],
      ...["--bootstrap-server", "BOOTSTRAP", "--command-property", "compression.type=lz4"],
    ],
  }),
  step("consumer performance", "consumer-perf", "--topic perf --num-records 20000 --timeout 20000", {
    compare: "performance",
  }),
  topics("create for verification", "--create --topic verify --partitions 1"),
  step("verifiable producer", "verifiable-producer", "--topic verify --max-messages 30 --acks -1"),
  consume("what the verifiable producer made", "--topic verify --from-beginning --max-messages 30 --timeout-ms 20000"),
  step(
    "verifiable consumer",
    "verifiable-consumer",
    "--topic verify --group-id verify --max-messages 30 --reset-policy earliest",
  ),
  groups("describe the verifiable consumer's group", "--describe --group verify --offsets"),
];

export const steps: readonly Step[] = [...topicSteps, ...configSteps, ...recordSteps, ...groupSteps, ...otherSteps];
