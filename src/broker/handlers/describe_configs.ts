/**
 * DescribeConfigs (32), versions 1 to 4: settings of topics and of this broker, with where each comes from. A name filter
 * that is null or empty means all (cases C43).
 */
import { errorCodeOf, KafkaError } from "../../base/kafka_error.ts";
import { describeBrokerConfigs } from "../../catalog/broker_configs.ts";
import type { ConfigEntry } from "../../catalog/config_definition.ts";
import { topicNameFault } from "../../catalog/names.ts";
import { describeTopicConfigs } from "../../catalog/topic_configs.ts";
import type { DescribeConfigsRequest } from "../../protocol/generated/describe_configs_request.ts";
import type { DescribeConfigsResponse } from "../../protocol/generated/describe_configs_response.ts";
import { requireThisBroker, resourceTypes } from "../config_resources.ts";
import { handler, type Services } from "../handler.ts";

type Resource = DescribeConfigsRequest["resources"][number];

export const describeConfigs = handler<DescribeConfigsRequest, DescribeConfigsResponse>(
  32,
  (request, { services }) => ({
    throttleTimeMs: 0,
    results: request.resources.map((resource) => {
      const { resourceType, resourceName } = resource;
      try {
        const configs = describe(resource, request, services);
        return { errorCode: 0, errorMessage: "", resourceType, resourceName, configs };
      } catch (error) {
        const errorMessage = (error as Error).message;
        return { errorCode: errorCodeOf(error), errorMessage, resourceType, resourceName, configs: [] };
      }
    }),
  }),
);

function describe(resource: Resource, request: DescribeConfigsRequest, services: Services): ConfigEntry[] {
  const { resourceType, resourceName, configurationKeys } = resource;
  const { includeSynonyms, includeDocumentation } = request;
  switch (resourceType) {
    case resourceTypes.topic: {
      const fault = topicNameFault(resourceName);
      if (fault) throw new KafkaError("INVALID_TOPIC_EXCEPTION", fault);
      const topic = services.catalog.topic(resourceName);
      if (!topic) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition.");
      const defaults = services.topics.defaultsOf(topic);
      return describeTopicConfigs(topic.configs, configurationKeys, {
        includeSynonyms,
        includeDocumentation,
        defaults,
      });
    }
    case resourceTypes.broker:
      requireThisBroker(resourceName, services.config.nodeId);
      return describeBrokerConfigs(services.brokerConfigs, configurationKeys, {
        includeSynonyms,
        includeDocumentation,
      });
    case resourceTypes.brokerLogger:
      requireThisBroker(resourceName, services.config.nodeId);
      return [];
    default:
      throw new KafkaError("INVALID_REQUEST", `Unsupported resource type: ${resourceType}`);
  }
}
