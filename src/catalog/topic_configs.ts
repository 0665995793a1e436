/**
 * Topic configs: checking what clients set, changing it, and describing it with its sources, by Apache Kafka's rules and
 * in its words. All functions are pure: a topic's configs are a map of what is set on it, in the form that Kafka shows,
 * and a change gives a new map or throws. `defaults` are the node's own defaults of topic configs, by topic config name.
 */
import { KafkaError } from "../base/kafka_error.ts";
import {
  type ConfigDefinition,
  type ConfigEntry,
  type ConfigSynonym,
  configSources,
  configTypeCodes,
  type DescribeOptions,
  listElements,
  parseConfig,
} from "./config_definition.ts";
import { topicConfigTable } from "./topic_config_table.ts";

export type TopicConfigs = ReadonlyMap<string, string>;

/** One change of IncrementalAlterConfigs (44); `configOperation` 0 sets, 1 deletes, 2 appends, 3 subtracts. */
export interface ConfigChange {
  name: string;
  configOperation: number;
  value: string | null;
}

export const configOperations = { set: 0, delete: 1, append: 2, subtract: 3 } as const;

const byName = new Map(topicConfigTable.map((definition) => [definition.name, definition]));
const noConfigs: TopicConfigs = new Map();

/** Names of all topic configs, ascending. */
export const topicConfigNames: readonly string[] = topicConfigTable.map((definition) => definition.name);

/** The value that holds for a topic, in the form that Kafka shows; undefined for a name that is no topic config. */
export function topicConfig(
  configs: TopicConfigs,
  name: string,
  defaults: TopicConfigs = noConfigs,
): string | undefined {
  return configs.get(name) ?? defaults.get(name) ?? byName.get(name)?.default ?? undefined;
}

/** Configs of a new topic, as CreateTopics sends them. Throws INVALID_CONFIG; of a repeated name the last counts. */
export function validateTopicConfigs(
  entries: Iterable<readonly [name: string, value: string | null]>,
  defaults: TopicConfigs = noConfigs,
): Map<string, string> {
  const given = new Map(entries);
  const nulls = [...given].filter(([, value]) => value === null).map(([name]) => name);
  if (nulls.length > 0) {
    throw new KafkaError("INVALID_CONFIG", `Null value not supported for topic configs: ${nulls.join(",")}`);
  }
  return checked(given as Map<string, string>, defaults);
}

/** AlterConfigs (33): what is not in `entries` goes back to its default. Throws INVALID_CONFIG or INVALID_REQUEST. */
export function alterTopicConfigs(
  entries: readonly { name: string; value: string | null }[],
  defaults: TopicConfigs = noConfigs,
): Map<string, string> {
  refuseRepeated(entries);
  refuseNull(entries.filter((entry) => entry.value === null));
  return checked(new Map(entries.map(({ name, value }) => [name, value!])), defaults);
}

/** IncrementalAlterConfigs (44): what `changes` do not name stays. Throws INVALID_CONFIG or INVALID_REQUEST. */
export function incrementalAlterTopicConfigs(
  configs: TopicConfigs,
  changes: readonly ConfigChange[],
  defaults: TopicConfigs = noConfigs,
): Map<string, string> {
  refuseRepeated(changes);
  refuseNull(changes.filter((change) => change.value === null && change.configOperation !== configOperations.delete));
  const changed = new Map(configs);
  for (const change of changes) applyChange(changed, change, defaults);
  return checked(changed, defaults);
}

/**
 * What DescribeConfigs (32) answers for a topic; `names` null or empty asks for all. A name that is no topic config has no
 * entry. Values come from the topic, else from the node's defaults (static broker config), else from Kafka's.
 */
export function describeTopicConfigs(
  configs: TopicConfigs,
  names: readonly string[] | null,
  options: DescribeOptions & { defaults?: TopicConfigs } = {},
): ConfigEntry[] {
  const defaults = options.defaults ?? noConfigs;
  const wanted = names === null || names.length === 0 ? undefined : new Set(names);
  const entries: ConfigEntry[] = [];
  for (const definition of topicConfigTable) {
    if (wanted && !wanted.has(definition.name)) continue;
    const synonyms = synonymsOf(definition, configs, defaults);
    const source = configs.has(definition.name)
      ? configSources.topic
      : defaults.has(definition.name)
        ? configSources.staticBroker
        : configSources.default;
    entries.push({
      name: definition.name,
      value: topicConfig(configs, definition.name, defaults) ?? null,
      readOnly: false,
      configSource: source,
      isSensitive: false,
      synonyms: options.includeSynonyms ? synonyms : [],
      configType: configTypeCodes[definition.type],
      documentation: options.includeDocumentation ? definition.documentation : null,
    });
  }
  return entries;
}

/** The places that could give the value, the one that counts first. */
function synonymsOf(definition: ConfigDefinition, configs: TopicConfigs, defaults: TopicConfigs): ConfigSynonym[] {
  const synonyms: ConfigSynonym[] = [];
  const own = configs.get(definition.name);
  if (own !== undefined) synonyms.push({ name: definition.name, value: own, source: configSources.topic });
  const { brokerName } = definition;
  if (brokerName === undefined) return synonyms;
  const node = defaults.get(definition.name);
  if (node !== undefined) synonyms.push({ name: brokerName, value: node, source: configSources.staticBroker });
  if (definition.brokerDefaultShown) {
    synonyms.push({ name: brokerName, value: definition.default, source: configSources.default });
  }
  return synonyms;
}

function applyChange(configs: Map<string, string>, change: ConfigChange, defaults: TopicConfigs): void {
  const { name, configOperation, value } = change;
  switch (configOperation) {
    case configOperations.set:
      configs.set(name, value!);
      return;
    case configOperations.delete:
      configs.delete(name);
      return;
    case configOperations.append:
    case configOperations.subtract: {
      const verb = configOperation === configOperations.append ? "APPEND" : "SUBTRACT";
      if (byName.get(name)?.type !== "list") {
        throw new KafkaError("INVALID_CONFIG", `Can't ${verb} to key ${name} because its type is not LIST.`);
      }
      const before = listElements(topicConfig(configs, name, defaults) ?? "");
      const given = value!.split(",").map((element) => element.trim());
      const after =
        verb === "APPEND"
          ? [...before, ...given.filter((element) => !before.includes(element))]
          : before.filter((element) => !given.includes(element));
      configs.set(name, after.join(","));
      return;
    }
    default:
      throw new KafkaError("INVALID_REQUEST", `Unknown operation type ${configOperation} for config ${name}`);
  }
}

/** The whole configuration of a topic in the form that Kafka shows; names are checked before values, as Kafka does. */
function checked(configs: ReadonlyMap<string, string>, defaults: TopicConfigs): Map<string, string> {
  for (const name of configs.keys()) {
    if (!byName.has(name)) throw new KafkaError("INVALID_CONFIG", `Unknown topic config name: ${name}`);
  }
  const parsed = new Map<string, string>();
  for (const [name, value] of configs) parsed.set(name, parseConfig(byName.get(name)!, value));
  const least = topicConfig(parsed, "min.compaction.lag.ms", defaults)!;
  const most = topicConfig(parsed, "max.compaction.lag.ms", defaults)!;
  if (BigInt(least) > BigInt(most)) {
    const message = `conflict topic config setting min.compaction.lag.ms (${least}) > max.compaction.lag.ms (${most})`;
    throw new KafkaError("INVALID_CONFIG", message);
  }
  if (parsed.get("remote.storage.enable") === "true") {
    const message =
      "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.";
    throw new KafkaError("INVALID_CONFIG", message);
  }
  return parsed;
}

function refuseRepeated(entries: readonly { name: string }[]): void {
  if (new Set(entries.map((entry) => entry.name)).size < entries.length) {
    throw new KafkaError("INVALID_REQUEST", "Error due to duplicate config keys");
  }
}

function refuseNull(entries: readonly { name: string }[]): void {
  if (entries.length > 0) {
    const names = entries.map((entry) => entry.name).join(",");
    throw new KafkaError("INVALID_REQUEST", `Null value not supported for : ${names}`);
  }
}
