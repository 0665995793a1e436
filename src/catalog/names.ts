/** Which names a topic may have: Kafka's own rule (org.apache.kafka.common.internals.Topic), with its messages. */

const lengthMax = 249;

/** What is wrong with the name as a topic's, or undefined. */
export function topicNameFault(name: string): string | undefined {
  if (name.length === 0) return "Topic name is invalid: the empty string is not allowed";
  if (name === "." || name === "..") return `Topic name is invalid: '${name}' is not allowed`;
  if (name.length > lengthMax)
    return `Topic name is invalid: the length of '${name}' is longer than the max allowed length ${lengthMax}`;
  if (!/^[a-zA-Z0-9._-]+$/.test(name))
    return `Topic name is invalid: '${name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'`;
  return undefined;
}
