"""Writes the text-* vectors beside it with the reference LZ4 and Snappy libraries. See README.md."""
import pathlib
import struct
import sys

import cramjam
import lz4.frame as f

to = pathlib.Path(sys.argv[1])
text = "".join(
    '{"id":%d,"user":"u%d","note":"the quick brown fox %d"}\n' % (i, i * 7919 % 101, i % 17) for i in range(2400)
).encode()


def frame(name, **options):
    (to / f"text-{name}.lz4").write_bytes(f.compress(text, **options))


frame("linked", block_linked=True, block_size=f.BLOCKSIZE_MAX64KB, store_size=False)
frame("independent", block_linked=False, block_size=f.BLOCKSIZE_MAX64KB, store_size=False)
frame("all", block_linked=True, block_size=f.BLOCKSIZE_MAX64KB, content_checksum=True, block_checksum=True, store_size=True)
frame("256k-high", block_linked=False, block_size=f.BLOCKSIZE_MAX256KB, content_checksum=True, compression_level=9)
frame("4m", block_linked=True, block_size=f.BLOCKSIZE_MAX4MB, content_checksum=True, store_size=True)
skippable = struct.pack("<II", 0x184D2A53, 5) + b"skip!"
(to / "text-two-frames.lz4").write_bytes(
    f.compress(text[:1000], block_linked=False) + skippable + f.compress(text[1000:], block_linked=True)
)
(to / "text-raw.snappy").write_bytes(bytes(cramjam.snappy.compress_raw(text)))
