/** Things that have settings (org.apache.kafka.common.config.ConfigResource), and which of them clients may change. */
import { errorCodeOf, KafkaError } from "../base/kafka_error.ts";
import type { TopicEntry } from "../catalog/catalog.ts";
import { topicNameFault } from "../catalog/names.ts";
import type { Services } from "./handler.ts";

export const resourceTypes = { topic: 2, broker: 4, brokerLogger: 8, group: 32 } as const;

interface Resource {
  resourceType: number;
  resourceName: string;
}

/** Throws INVALID_REQUEST where the name is another broker's. */
export function requireThisBroker(name: string, nodeId: number): void {
  if (name === "" || name === String(nodeId)) return;
  const message = /^\d+$/.test(name)
    ? `Unexpected broker id, expected ${nodeId} or empty string, but received ${name}`
    : `Broker id must be an integer, but it is: ${name}`;
  throw new KafkaError("INVALID_REQUEST", message);
}

/** The topic whose settings a client wants to change; throws for anything else. */
function alterableTopic({ resourceType, resourceName }: Resource, services: Services): TopicEntry {
  if (resourceType !== resourceTypes.topic) {
    const what =
      resourceType === resourceTypes.broker ? "A broker's settings" : `Settings of resource type ${resourceType}`;
    throw new KafkaError("INVALID_REQUEST", `${what} cannot be changed while it runs; use its options at start.`);
  }
  const fault = topicNameFault(resourceName);
  if (fault) throw new KafkaError("INVALID_TOPIC_EXCEPTION", fault);
  const topic = services.catalog.topic(resourceName);
  if (!topic) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", `The topic '${resourceName}' does not exist.`);
  return topic;
}

/** Kafka refuses a resource that is named twice in one request. */
function refuseRepeatedResources(resource: Resource, all: readonly Resource[]): void {
  const same = all.filter(
    ({ resourceType, resourceName }) =>
      resourceType === resource.resourceType && resourceName === resource.resourceName,
  );
  if (same.length > 1) throw new KafkaError("INVALID_REQUEST", "Each resource must appear at most once.");
}

/**
 * Changes the settings of each topic named, as AlterConfigs and IncrementalAlterConfigs do; `change` gives a topic's new
 * settings or throws. One answer per resource: a refusal of one leaves the others alone.
 */
export async function alterEach<R extends Resource>(
  request: { resources: readonly R[]; validateOnly: boolean },
  services: Services,
  change: (topic: TopicEntry, resource: R) => ReadonlyMap<string, string>,
) {
  const alter = async (resource: R) => {
    refuseRepeatedResources(resource, request.resources);
    const topic = alterableTopic(resource, services);
    const configs = change(topic, resource);
    if (topic.internal)
      throw new KafkaError("TOPIC_AUTHORIZATION_FAILED", `Topic '${topic.name}' belongs to the node.`);
    if (!request.validateOnly) await services.catalog.setConfigs(topic.name, configs);
  };
  return await Promise.all(
    request.resources.map(async (resource) => {
      const { resourceType, resourceName } = resource;
      try {
        await alter(resource);
        return { errorCode: 0, errorMessage: null, resourceType, resourceName };
      } catch (error) {
        return { errorCode: errorCodeOf(error), errorMessage: (error as Error).message, resourceType, resourceName };
      }
    }),
  );
}
