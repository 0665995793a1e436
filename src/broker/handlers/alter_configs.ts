/**
 * AlterConfigs (33), versions 0 to 2: replaces all settings of a topic; what is left out goes back to its default. The
 * broker's own settings come from its command line and cannot be changed here.
 */
import { alterTopicConfigs } from "../../catalog/topic_configs.ts";
import type { AlterConfigsRequest } from "../../protocol/generated/alter_configs_request.ts";
import type { AlterConfigsResponse } from "../../protocol/generated/alter_configs_response.ts";
import { alterEach } from "../config_resources.ts";
import { handler } from "../handler.ts";

export const alterConfigs = handler<AlterConfigsRequest, AlterConfigsResponse>(33, async (request, { services }) => ({
  throttleTimeMs: 0,
  responses: await alterEach(request, services, (topic, resource) =>
    alterTopicConfigs(resource.configs, services.topics.defaultsOf(topic)),
  ),
}));
