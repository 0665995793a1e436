/**
 * ListConfigResources (74), versions 0 and 1 (KIP-1142). Version 0 lists client metrics subscriptions, of which there are
 * none; version 1 lists resources of the types asked for: topics (2), brokers (4), and groups (32) that have settings.
 */
import { errorCodes } from "../../base/kafka_error.ts";
import type { ListConfigResourcesRequest } from "../../protocol/generated/list_config_resources_request.ts";
import type { ListConfigResourcesResponse } from "../../protocol/generated/list_config_resources_response.ts";
import { resourceTypes } from "../config_resources.ts";
import { handler } from "../handler.ts";

const clientMetrics = 16;
const knownTypes: readonly number[] = [
  resourceTypes.topic,
  resourceTypes.broker,
  resourceTypes.brokerLogger,
  clientMetrics,
  resourceTypes.group,
];

export const listConfigResources = handler<ListConfigResourcesRequest, ListConfigResourcesResponse>(
  74,
  (request, { apiVersion, services }) => {
    if (request.resourceTypes.some((type) => !knownTypes.includes(type)))
      return { throttleTimeMs: 0, errorCode: errorCodes.UNSUPPORTED_VERSION, configResources: [] };
    const all = request.resourceTypes.length === 0 ? knownTypes : request.resourceTypes;
    const types = new Set(apiVersion === 0 ? [clientMetrics] : all);
    const configResources: ListConfigResourcesResponse["configResources"] = [];
    if (types.has(resourceTypes.topic)) {
      for (const { name } of services.catalog.topics())
        configResources.push({ resourceName: name, resourceType: resourceTypes.topic });
    }
    for (const resourceType of [resourceTypes.broker, resourceTypes.brokerLogger])
      if (types.has(resourceType)) configResources.push({ resourceName: `${services.config.nodeId}`, resourceType });
    return { throttleTimeMs: 0, errorCode: 0, configResources };
  },
);
