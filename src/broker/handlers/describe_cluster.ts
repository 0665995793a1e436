/** DescribeCluster (60), versions 0 to 2: the cluster's id and its one broker, which is its own controller. */
import { errorCodes } from "../../base/kafka_error.ts";
import type { DescribeClusterRequest } from "../../protocol/generated/describe_cluster_request.ts";
import type { DescribeClusterResponse } from "../../protocol/generated/describe_cluster_response.ts";
import { advertisedAddress } from "../address.ts";
import { clusterOperations, unaskedOperations } from "../authorized_operations.ts";
import { handler } from "../handler.ts";

/** The endpoints that a client may ask for: 1 brokers, 2 controllers (KIP-919). */
const brokerEndpoints = 1;
const controllerEndpoints = 2;

export const describeCluster = handler<DescribeClusterRequest, DescribeClusterResponse>(60, (request, context) => {
  const { config, catalog } = context.services;
  const mismatched = request.endpointType !== brokerEndpoints;
  const unknown = mismatched && request.endpointType !== controllerEndpoints;
  return {
    throttleTimeMs: 0,
    errorCode: unknown ? errorCodes.UNSUPPORTED_ENDPOINT_TYPE : mismatched ? errorCodes.MISMATCHED_ENDPOINT_TYPE : 0,
    errorMessage: mismatched ? "The request was sent to an endpoint of the wrong type: this is a broker." : null,
    endpointType: brokerEndpoints,
    clusterId: mismatched ? "" : catalog.clusterId,
    controllerId: mismatched ? -1 : config.nodeId,
    brokers: mismatched
      ? []
      : [{ brokerId: config.nodeId, ...advertisedAddress(context), rack: null, isFenced: false }],
    clusterAuthorizedOperations: request.includeClusterAuthorizedOperations ? clusterOperations : unaskedOperations,
  };
});
