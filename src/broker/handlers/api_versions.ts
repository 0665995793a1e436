/**
 * ApiVersions (18), versions 0 to 5. A version above ours is answered by the dispatcher in the form of version 0 with
 * UNSUPPORTED_VERSION and our ranges, so that the client can come back with one that both know (KIP-511, cases C05).
 */
import { errorCodes } from "../../base/kafka_error.ts";
import { servedApis } from "../../protocol/apis.ts";
import type { ApiVersionsRequest } from "../../protocol/generated/api_versions_request.ts";
import type { ApiVersionsResponse } from "../../protocol/generated/api_versions_response.ts";
import { handler } from "../handler.ts";

const softwareName = /^[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?$/;

export const apiVersions = handler<ApiVersionsRequest, ApiVersionsResponse>(18, (request, context) => {
  const { apiVersion } = context;
  if (apiVersion >= 3) {
    const { clientSoftwareName: name, clientSoftwareVersion: version } = request;
    if (!softwareName.test(name) || !softwareName.test(version)) return apiVersionsAnswer(errorCodes.INVALID_REQUEST);
    context.setClientSoftware(`${name} ${version}`);
  }
  return apiVersionsAnswer(0);
});

/** What every ApiVersions answer holds: each served API with its range. */
export function apiVersionsAnswer(errorCode: number): ApiVersionsResponse {
  const listed = errorCode === 0 || errorCode === errorCodes.UNSUPPORTED_VERSION;
  return {
    errorCode,
    apiKeys: listed
      ? servedApis.map(({ key, advertised: [minVersion, maxVersion] }) => ({ apiKey: key, minVersion, maxVersion }))
      : [],
    throttleTimeMs: 0,
    supportedFeatures: [],
    finalizedFeaturesEpoch: -1n,
    finalizedFeatures: [],
    zkMigrationReady: false,
  };
}
