declare module "lz4js" {
  const lz4js: { compress(bytes: Uint8Array): Uint8Array; decompress(bytes: Uint8Array, maxSize?: number): Uint8Array };
  export default lz4js;
}
declare module "snappyjs" {
  const snappyjs: {
    compress(bytes: Uint8Array): Uint8Array;
    uncompress(bytes: Uint8Array, maxLength?: number): Uint8Array;
  };
  export default snappyjs;
}
