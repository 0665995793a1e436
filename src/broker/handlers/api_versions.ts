/**
 * ApiVersions (18), versions 0 to 5. A version above ours is answered by the dispatcher in the form of version 0 with
 * UNSUPPORTED_VERSION and our ranges, so that the client can come back with one that both know (KIP-511, cases C05).
 */
import { errorCodes } from "../../base/kafka_error.ts";
import { servedApis } from "../../protocol/apis.ts";
import type { ApiVersionsRequest } from "../../protocol/generated/api_versions_request.ts";
import type { ApiVersionsResponse } from "../../protocol/generated/api_versions_response.ts";
import { apiKeys } from "../../protocol/generated/index.ts";
import { handler } from "../handler.ts";

const softwareName = /^[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?$/;

export const apiVersions = handler<ApiVersionsRequest, ApiVersionsResponse>(18, (request, context) => {
  const { apiVersion } = context;
  if (apiVersion >= 3) {
    const { clientSoftwareName: name, clientSoftwareVersion: version } = request;
    if (!softwareName.test(name) || !softwareName.test(version)) return apiVersionsAnswer(errorCodes.INVALID_REQUEST);
    context.setClientSoftware(`${name} ${version}`);
    const { clusterId, nodeId } = request;
    const code = identityFault(clusterId, nodeId, context.services.catalog.clusterId, context.services.config.nodeId);
    if (code !== 0) return apiVersionsAnswer(code);
  }
  return apiVersionsAnswer(0);
});

/** From version 5 a client says which broker it means to talk to: both of the cluster's id and the node's, or neither. */
function identityFault(clusterId: string | null, nodeId: number, ownClusterId: string, ownNodeId: number): number {
  if (clusterId === null && nodeId === -1) return 0;
  if (!clusterId || nodeId === -1) return errorCodes.INVALID_REQUEST;
  return clusterId === ownClusterId && nodeId === ownNodeId ? 0 : errorCodes.REBOOTSTRAP_REQUIRED;
}

/** What every ApiVersions answer holds: each served API with its range; for an unknown version, as in Kafka, its own. */
export function apiVersionsAnswer(errorCode: number): ApiVersionsResponse {
  const listed = (key: number) =>
    errorCode === 0 || (errorCode === errorCodes.UNSUPPORTED_VERSION && key === apiKeys.ApiVersions);
  return {
    errorCode,
    apiKeys: servedApis
      .filter(({ key }) => listed(key))
      .map(({ key, advertised: [minVersion, maxVersion] }) => ({ apiKey: key, minVersion, maxVersion })),
    throttleTimeMs: 0,
    supportedFeatures: [],
    finalizedFeaturesEpoch: -1n,
    finalizedFeatures: [],
    zkMigrationReady: false,
  };
}
