/**
 * AlterConfigs (33), versions 0 to 2: replaces all settings of a topic; what is left out goes back to its default. The
 * broker's own settings come from its command line and cannot be changed here.
 */
import { errorCodeOf, KafkaError } from "../../base/kafka_error.ts";
import { alterTopicConfigs } from "../../catalog/topic_configs.ts";
import type { AlterConfigsRequest } from "../../protocol/generated/alter_configs_request.ts";
import type { AlterConfigsResponse } from "../../protocol/generated/alter_configs_response.ts";
import { alterableTopic, refuseRepeatedResources } from "../config_resources.ts";
import { handler, type Services } from "../handler.ts";

type Resource = AlterConfigsRequest["resources"][number];

export const alterConfigs = handler<AlterConfigsRequest, AlterConfigsResponse>(33, async (request, { services }) => ({
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
}));

async function alter(resource: Resource, validateOnly: boolean, services: Services): Promise<void> {
  const topic = alterableTopic(resource, services);
  const configs = alterTopicConfigs(resource.configs, services.topics.defaultsOf(topic));
  if (topic.internal) throw new KafkaError("TOPIC_AUTHORIZATION_FAILED", `Topic '${topic.name}' belongs to the node.`);
  if (!validateOnly) await services.catalog.setConfigs(topic.name, configs);
}
