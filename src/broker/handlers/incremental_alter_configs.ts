/**
 * IncrementalAlterConfigs (44), versions 0 and 1: sets, deletes, appends to and subtracts from single settings of a topic;
 * what is not named stays (KIP-339).
 */
import { errorCodeOf, KafkaError } from "../../base/kafka_error.ts";
import { incrementalAlterTopicConfigs } from "../../catalog/topic_configs.ts";
import type { IncrementalAlterConfigsRequest } from "../../protocol/generated/incremental_alter_configs_request.ts";
import type { IncrementalAlterConfigsResponse } from "../../protocol/generated/incremental_alter_configs_response.ts";
import { alterableTopic, refuseRepeatedResources } from "../config_resources.ts";
import { handler, type Services } from "../handler.ts";

type Resource = IncrementalAlterConfigsRequest["resources"][number];

export const incrementalAlterConfigs = handler<IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse>(
  44,
  async (request, { services }) => ({
    throttleTimeMs: 0,
    responses: await Promise.all(
      request.resources.map(async (resource) => {
        const { resourceType, resourceName } = resource;
        try {
          refuseRepeatedResources(resource, request.resources);
          await alter(resource, request.validateOnly, services);
          return { errorCode: 0, errorMessage: null, resourceType, resourceName };
        } catch (error) {
          return { errorCode: errorCodeOf(error), errorMessage: (error as Error).message, resourceType, resourceName };
        }
      }),
    ),
  }),
);

async function alter(resource: Resource, validateOnly: boolean, services: Services): Promise<void> {
  const topic = alterableTopic(resource, services);
  const configs = incrementalAlterTopicConfigs(topic.configs, resource.configs, services.topics.defaultsOf(topic));
  if (topic.internal) throw new KafkaError("TOPIC_AUTHORIZATION_FAILED", `Topic '${topic.name}' belongs to the node.`);
  if (!validateOnly) await services.catalog.setConfigs(topic.name, configs);
}
