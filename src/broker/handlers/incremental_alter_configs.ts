/**
 * IncrementalAlterConfigs (44), versions 0 and 1: sets, deletes, appends to and subtracts from single settings of a topic;
 * what is not named stays (KIP-339).
 */
import { incrementalAlterTopicConfigs } from "../../catalog/topic_configs.ts";
import type { IncrementalAlterConfigsRequest } from "../../protocol/generated/incremental_alter_configs_request.ts";
import type { IncrementalAlterConfigsResponse } from "../../protocol/generated/incremental_alter_configs_response.ts";
import { alterEach } from "../config_resources.ts";
import { handler } from "../handler.ts";

export const incrementalAlterConfigs = handler<IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse>(
  44,
  async (request, { services }) => ({
    throttleTimeMs: 0,
    responses: await alterEach(request, services, (topic, resource) =>
      incrementalAlterTopicConfigs(topic.configs, resource.configs, services.topics.defaultsOf(topic)),
    ),
  }),
);
