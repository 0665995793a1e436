/**
 * AlterReplicaLogDirs (34), versions 1 and 2: a node has one folder of logs. Partitions are in it already, so to move them
 * there succeeds; another folder is LOG_DIR_NOT_FOUND.
 */
import { errorCodes } from "../../base/kafka_error.ts";
import type { AlterReplicaLogDirsRequest } from "../../protocol/generated/alter_replica_log_dirs_request.ts";
import type { AlterReplicaLogDirsResponse } from "../../protocol/generated/alter_replica_log_dirs_response.ts";
import { handler, type Services } from "../handler.ts";

export const alterReplicaLogDirs = handler<AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse>(
  34,
  (request, { services }) => {
    /** A topic once, whichever folders it was named for. */
    const results = new Map<string, AlterReplicaLogDirsResponse["results"][number]>();
    for (const { path, topics } of request.dirs) {
      for (const { name, partitions } of topics) {
        const result = results.get(name) ?? { topicName: name, partitions: [] };
        results.set(name, result);
        for (const partitionIndex of partitions)
          result.partitions.push({ partitionIndex, errorCode: move(path, name, partitionIndex, services) });
      }
    }
    return { throttleTimeMs: 0, results: [...results.values()] };
  },
);

function move(path: string, name: string, partition: number, { catalog, config }: Services): number {
  if (path !== config.logDirectory) return errorCodes.LOG_DIR_NOT_FOUND;
  const topic = catalog.topic(name);
  return topic && partition >= 0 && partition < topic.partitions ? 0 : errorCodes.UNKNOWN_TOPIC_OR_PARTITION;
}
