/**
 * The node's own settings under the names of Kafka's broker configs, as DescribeConfigs shows them for a broker.
 * `values` holds what this node really uses, where that is not Kafka's default or was set; nothing of it can be altered.
 */
import { KafkaError } from "../base/kafka_error.ts";
import { brokerConfigTable } from "./broker_config_table.ts";
import {
  type ConfigEntry,
  type ConfigSynonym,
  configSources,
  configTypeCodes,
  type DescribeOptions,
} from "./config_definition.ts";
import { topicConfigTable } from "./topic_config_table.ts";

/** Names of all broker configs that are shown, ascending. */
export const brokerConfigNames: readonly string[] = brokerConfigTable.map((definition) => definition.name);

/**
 * Broker configs by Kafka's names from the node's defaults of topic configs (retention.ms gives log.retention.ms), to be
 * put into `values` beside the node's other settings.
 */
export function brokerNamesOfTopicDefaults(defaults: ReadonlyMap<string, string>): Map<string, string> {
  const values = new Map<string, string>();
  for (const definition of topicConfigTable) {
    const value = defaults.get(definition.name);
    if (value !== undefined && definition.brokerName !== undefined) values.set(definition.brokerName, value);
  }
  return values;
}

/** What DescribeConfigs (32) answers for this broker; `names` null or empty asks for all. */
export function describeBrokerConfigs(
  values: ReadonlyMap<string, string>,
  names: readonly string[] | null,
  options: DescribeOptions = {},
): ConfigEntry[] {
  const wanted = names === null || names.length === 0 ? undefined : new Set(names);
  const entries: ConfigEntry[] = [];
  for (const definition of brokerConfigTable) {
    const { name } = definition;
    if (wanted && !wanted.has(name)) continue;
    const set = values.get(name);
    const synonyms: ConfigSynonym[] = [];
    if (set !== undefined) synonyms.push({ name, value: set, source: configSources.staticBroker });
    if (definition.default !== null) synonyms.push({ name, value: definition.default, source: configSources.default });
    entries.push({
      name,
      value: set ?? definition.default,
      readOnly: true,
      configSource: set === undefined ? configSources.default : configSources.staticBroker,
      isSensitive: false,
      synonyms: options.includeSynonyms ? synonyms : [],
      configType: configTypeCodes[definition.type],
      documentation: options.includeDocumentation ? definition.documentation : null,
    });
  }
  return entries;
}

/** Refuses changes of broker configs by Kafka's rule for configs that need a restart; no change at all is accepted. */
export function refuseBrokerConfigChanges(names: readonly string[]): void {
  if (names.length === 0) return;
  throw new KafkaError("INVALID_REQUEST", `Cannot update these configs dynamically: [${names.join(", ")}]`);
}
