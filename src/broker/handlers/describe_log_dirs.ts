/** DescribeLogDirs (35), versions 1 to 5: the lake's one log folder, with the true size of each partition. */
import type { DescribeLogDirsRequest } from "../../protocol/generated/describe_log_dirs_request.ts";
import type { DescribeLogDirsResponse } from "../../protocol/generated/describe_log_dirs_response.ts";
import { handler, type Services } from "../handler.ts";

type Directory = DescribeLogDirsResponse["results"][number];

export const describeLogDirs = handler<DescribeLogDirsRequest, DescribeLogDirsResponse>(35, (request, { services }) => {
  const { free, total } = services.storage();
  const topics: Directory["topics"] = [];
  for (const [name, partitions] of askedFor(request, services)) {
    const topic = services.catalog.topic(name);
    if (!topic) continue;
    const sizes = partitions.filter((partition) => partition >= 0 && partition < topic.partitions);
    topics.push({
      name,
      partitions: sizes.map((partitionIndex) => ({
        partitionIndex,
        partitionSize: BigInt(services.logs.get(name, partitionIndex)?.sizeBytes() ?? 0),
        offsetLag: 0n,
        isFutureKey: false,
      })),
    });
  }
  const directory: Directory = {
    errorCode: 0,
    logDir: services.config.logDirectory,
    topics,
    totalBytes: BigInt(total),
    usableBytes: BigInt(free),
    isCordoned: false,
  };
  return { throttleTimeMs: 0, errorCode: 0, results: [directory] };
});

/** A null list of topics means all. */
function* askedFor(request: DescribeLogDirsRequest, services: Services): Iterable<[string, number[]]> {
  if (request.topics === null) {
    for (const topic of services.catalog.topics())
      yield [topic.name, Array.from({ length: topic.partitions }, (_, partition) => partition)];
    return;
  }
  for (const { topic, partitions } of request.topics) yield [topic, partitions];
}
