/*
 * fpstore: a compressed on-disk store for near-duplicate fingerprints, with exact Hamming search.
 *
 * Made from the sources by cbindgen; do not edit.
 *
 * Fingerprints are bytes, the most significant first: as their hexadecimal digits are written.
 * Functions give a status; what went wrong says fps_last_error(), of the same thread. Handles are
 * freed by whoever got them. Structures with a size in front start from the macro of their name and
 * _INIT, so that programs go on working where a later version has more fields.
 */

#ifndef FPSTORE_H
#define FPSTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The version of this header; fps_version() gives that of the library. */
#define FPSTORE_VERSION "0.1.0"
#define FPSTORE_VERSION_MAJOR 0
#define FPSTORE_VERSION_MINOR 1
#define FPSTORE_VERSION_PATCH 0
#define FPSTORE_VERSION_NUMBER 1000


/*
 There are no ids.
 */
#define FPS_ID_NONE 0

/*
 Integers of 64 bits.
 */
#define FPS_ID_NUMBER 1

/*
 Text in UTF-8 of up to 65,535 bytes.
 */
#define FPS_ID_TEXT 2

/*
 UUIDs: 16 bytes, in the order of their text.
 */
#define FPS_ID_UUID 3

/*
 Integers of 128 bits: 16 bytes, the most significant first.
 */
#define FPS_ID_NUMBER128 4

/*
 Keys that all have the same number of bytes, 1 to 65,535.
 */
#define FPS_ID_BYTES 5

/*
 On disk within some milliseconds, together with all else that is written meanwhile; survives the
 end of the program at once.
 */
#define FPS_DURABILITY_GROUP 0

/*
 On disk when the call returns.
 */
#define FPS_DURABILITY_IMMEDIATE 1

/*
 On disk with a later commit that asks for more; survives the end of the program at once.
 */
#define FPS_DURABILITY_EVENTUAL 2

/*
 What a function answers.
 */
enum fps_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   It was done.
   */
  FPS_OK = 0,
  /*
   An iterator has given all. No error, and without a message.
   */
  FPS_END = 1,
  /*
   An argument or an option is wrong: it will fail again.
   */
  FPS_INVALID_INPUT = 2,
  /*
   Nothing stands at the path that was given, or no store.
   */
  FPS_NOT_FOUND = 3,
  /*
   Bytes of a file are damaged: restore it from a copy.
   */
  FPS_CORRUPT = 4,
  /*
   A newer version of fpstore has written it.
   */
  FPS_UNSUPPORTED = 5,
  /*
   Something stands where the output was to go.
   */
  FPS_ALREADY_EXISTS = 6,
  /*
   Another writer is open there, of this process or another: it may go later.
   */
  FPS_BUSY = 7,
  /*
   The store is not at its path any more, or not locked: open it where it is now.
   */
  FPS_DISPLACED = 8,
  /*
   Its time has passed.
   */
  FPS_STOPPED = 9,
  /*
   It needs more memory, threads or space than there is or was allowed.
   */
  FPS_OUT_OF_RESOURCES = 10,
  /*
   The operating system refused, for another reason.
   */
  FPS_IO = 11,
  /*
   A defect of fpstore. Free the handles that were used; all others are sound.
   */
  FPS_PANIC = 12,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum fps_status fps_status;
#else
typedef int32_t fps_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 The answers of a batch, in memory. Any number of threads may use them at once.
 */
typedef struct fps_answers fps_answers;

/*
 The fingerprints of a snapshot, one after the other. One thread at a time may use one.
 */
typedef struct fps_cursor fps_cursor;

/*
 The ids of a fingerprint, one after the other. One thread at a time may use one.
 */
typedef struct fps_ids fps_ids;

/*
 A pack that takes fingerprints piece by piece. Threads may share one; their calls wait for each
 other.
 */
typedef struct fps_packer fps_packer;

/*
 Searches a snapshot again and again, and keeps its buffers from one query to the next: the
 fastest way for many queries of one thread. One thread at a time may use one.
 */
typedef struct fps_searcher fps_searcher;

/*
 What a store holds at a moment. It never changes, and outlives the store or the writer that it
 comes from. Any number of threads may use one at once.
 */
typedef struct fps_snapshot fps_snapshot;

/*
 A store that is open for reading. Any number of threads may use one at once.
 */
typedef struct fps_store fps_store;

/*
 Writes a store, while any number of readers, in this process and others, search it. There is one
 writer of a store at a time, over all processes; any number of threads may use it at once.
 */
typedef struct fps_writer fps_writer;

/*
 How a store is opened. Start from `FPS_OPEN_OPTIONS_INIT`.
 */
typedef struct fps_open_options {
  /*
   `sizeof(fps_open_options)`.
   */
  size_t size;
  /*
   Bytes of memory in which searches build what makes them faster, 32 for each fingerprint of
   64 bits; 0 builds nothing, and a negative number takes a 64th of the memory of the machine,
   at least 24 MiB and at most 512 MiB. -1 by default.
   */
  int64_t memory_bytes;
  /*
   Not 0 reads the files into memory. Otherwise they are mapped: who cuts them short ends the
   process with SIGBUS.
   */
  uint8_t in_memory;
} fps_open_options;

/*
 A stored fingerprint near a query.
 */
typedef struct fps_match {
  /*
   The stored fingerprint: its bytes, the most significant first. Behind those of the width
   stand zeros.
   */
  uint8_t fingerprint[32];
  /*
   Its Hamming distance from the query, in bits.
   */
  uint32_t distance;
} fps_match;

/*
 What identifies a record: a number, or a name. All ids of a store are of one kind.

 `fps_id_number`, `fps_id_text`, `fps_id_uuid`, `fps_id_number128` and `fps_id_bytes` make one.
 */
typedef struct fps_id {
  /*
   One of `FPS_ID_NUMBER` to `FPS_ID_BYTES`.
   */
  uint32_t kind;
  /*
   The number, where that is the kind.
   */
  uint64_t number;
  /*
   The bytes of a name; not looked at where the id is a number.
   */
  const uint8_t *bytes;
  /*
   How many these are. Text that the library gives has a zero behind them, which does not
   count.
   */
  size_t length;
} fps_id;

/*
 How a batch runs. Start from `FPS_BATCH_OPTIONS_INIT`.
 */
typedef struct fps_batch_options {
  /*
   `sizeof(fps_batch_options)`.
   */
  size_t size;
  /*
   The most matches that are kept of a query, the nearest ones; 0 only counts. `UINT64_MAX` by
   default.
   */
  uint64_t limit;
  /*
   Threads, up to 1024. 0 stands for one per core.
   */
  uint32_t threads;
  /*
   Milliseconds after which the batch ends with `FPS_STOPPED`. 0 bounds nothing.
   */
  uint32_t timeout_ms;
  /*
   Bytes of memory that the work may take besides the answers, from 16 MiB on. 0 bounds
   nothing.
   */
  uint64_t memory_bytes;
} fps_batch_options;

/*
 What a store is made of. Start from `FPS_STATS_INIT`.
 */
typedef struct fps_stats {
  /*
   `sizeof(fps_stats)`.
   */
  size_t size;
  /*
   Bits of a fingerprint.
   */
  uint32_t bits;
  /*
   The distance that the store was planned for.
   */
  uint32_t radius;
  /*
   What ids are, one of `FPS_ID_NONE` to `FPS_ID_BYTES`.
   */
  uint32_t id_kind;
  /*
   Bytes of each id; 0 of texts, and where there are none.
   */
  uint32_t id_bytes;
  /*
   Fingerprints; where several segments or the log hold the same one it counts in each, and a
   deleted one until segments are merged. `fps_snapshot_count` gives the exact number.
   */
  uint64_t fingerprints;
  /*
   Bytes of all files but logs.
   */
  uint64_t bytes;
  /*
   Bytes of memory that open files, and what searches have built, take.
   */
  uint64_t heap_bytes;
  /*
   Segments.
   */
  uint64_t segments;
  /*
   Insertions and deletions that stand in the log and in no segment yet.
   */
  uint64_t log_operations;
  /*
   How often the store was written.
   */
  uint64_t generation;
  /*
   Which store it is: the same in all its generations and copies.
   */
  uint8_t store_id[16];
} fps_stats;

/*
 How a set is packed. Start from `FPS_PACK_OPTIONS_INIT`.
 */
typedef struct fps_pack_options {
  /*
   `sizeof(fps_pack_options)`.
   */
  size_t size;
  /*
   Bits of a fingerprint: 32, 64, 128 or 256. 64 by default.
   */
  uint32_t bits;
  /*
   The distance that queries will mostly ask for. 3 by default. It limits nothing.
   */
  uint32_t radius;
  /*
   The tables: a name such as `"quarters"`, or widths of parts such as `"32,16,16"`. NULL lets
   the library choose.
   */
  const char *design;
  /*
   Part tables in place of tables, the only way for more than 64 bits. 0 lets the library
   choose.
   */
  uint16_t parts;
  /*
   Not 0 keeps only those bits in the tables behind the first that find a fingerprint there.
   */
  uint8_t short_tables;
  /*
   Not 0 replaces a store that stands at the path.
   */
  uint8_t replace;
  /*
   Not 0 adds what is packed to the store at the path.
   */
  uint8_t append;
  /*
   Bytes per block, a power of two from 256 to 8192. 0 lets the library choose.
   */
  uint32_t block_bytes;
  /*
   What ids are, one of `FPS_ID_NUMBER` to `FPS_ID_BYTES`. 0 lets the first one decide.
   */
  uint32_t id_kind;
  /*
   Bytes of each id, where these are keys.
   */
  uint32_t id_bytes;
  /*
   Threads, up to 1024. 0 stands for one per core.
   */
  uint32_t threads;
  /*
   Bytes of memory that the pack may take, from 16 MiB on; what does not fit goes to temporary
   files. 0 bounds nothing.
   */
  uint64_t memory_bytes;
  /*
   The directory of temporary files. NULL is beside the output.
   */
  const char *scratch_directory;
  /*
   A line that tells how the fingerprints were made, kept with the store; NULL for none.
   */
  const char *recipe;
} fps_pack_options;

/*
 What a pack has written. Start from `FPS_PACK_SUMMARY_INIT`.
 */
typedef struct fps_pack_summary {
  /*
   `sizeof(fps_pack_summary)`.
   */
  size_t size;
  /*
   Fingerprints read, duplicates included.
   */
  uint64_t read;
  /*
   Distinct fingerprints.
   */
  uint64_t distinct;
  /*
   Distinct pairs of a fingerprint and an id; 0 without ids.
   */
  uint64_t ids;
  /*
   Bytes of all files.
   */
  uint64_t bytes;
} fps_pack_summary;

/*
 How a store is created. Start from `FPS_CREATE_OPTIONS_INIT`.
 */
typedef struct fps_create_options {
  /*
   `sizeof(fps_create_options)`.
   */
  size_t size;
  /*
   Bits of a fingerprint: 32, 64, 128 or 256. 64 by default.
   */
  uint32_t bits;
  /*
   The distance that queries will mostly ask for. 3 by default. It limits nothing.
   */
  uint32_t radius;
  /*
   What ids are, `FPS_ID_NUMBER` by default: all records have one then. `FPS_ID_NONE` if none
   has.
   */
  uint32_t id_kind;
  /*
   Bytes of each id, where these are keys.
   */
  uint32_t id_bytes;
  /*
   As of `fps_pack_options`.
   */
  const char *design;
  /*
   As of `fps_pack_options`.
   */
  uint16_t parts;
  /*
   As of `fps_pack_options`.
   */
  uint8_t short_tables;
  /*
   As of `fps_pack_options`.
   */
  const char *recipe;
} fps_create_options;

/*
 How a store is written. Start from `FPS_WRITER_OPTIONS_INIT`.
 */
typedef struct fps_writer_options {
  /*
   `sizeof(fps_writer_options)`.
   */
  size_t size;
  /*
   What is kept of what is written without a commit: `FPS_DURABILITY_GROUP` by default. With
   `FPS_DURABILITY_IMMEDIATE` each call waits for the disk.
   */
  uint32_t durability;
  /*
   Milliseconds that `FPS_DURABILITY_GROUP` may take. 50 by default.
   */
  uint32_t sync_interval_ms;
  /*
   Records that stay in memory, 100 to 150 bytes each, until they become a segment: 1 to 2^24.
   0 stands for half a million, or 65,536 of 128 or 256 bits.
   */
  uint32_t tail_records;
  /*
   Not 0 leaves flushes and merges to the calls of these names. Otherwise threads of the writer
   do both.
   */
  uint8_t no_background;
} fps_writer_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The version of the library that runs, as `FPSTORE_VERSION` gives that of the header: `"0.1.0"`.
 The text is static.
 */
const char *fps_version(void);

/*
 What went wrong in the last call of this thread that failed: one line in UTF-8, which names the
 file, what was found, and what to do. Empty if none has failed. Calls that succeed leave it as
 it is, so look at it only where a status says so. The text belongs to the library and stays
 until the next call of this thread that fails, `fps_clear_error`, or the end of the thread.
 */
const char *fps_last_error(void);

/*
 Forgets the last error of this thread.
 */
void fps_clear_error(void);

/*
 The name of a status, such as `"FPS_CORRUPT"`; `"unknown"` of another number. The text is
 static.
 */
const char *fps_status_name(int32_t status);

/*
 Opens the store in the directory `path`, of whatever width. `options` may be NULL. Takes no lock
 and needs no permission to write. End it with `fps_store_close`.

 FPS_NOT_FOUND, FPS_CORRUPT, FPS_UNSUPPORTED, FPS_IO.
 */
fps_status fps_store_open(const char *path,
                          const struct fps_open_options *options,
                          struct fps_store **store);

/*
 Ends a store; NULL does nothing. Its snapshots stay.
 */
void fps_store_close(struct fps_store *store);

/*
 Looks whether the store was written since, and if so shows what it holds now, to later
 snapshots; `changed`, which may be NULL, tells whether. Takes 20 to 40 us where nothing was
 written.

 As `fps_store_open`; the store is as it was then.
 */
fps_status fps_store_refresh(const struct fps_store *store, bool *changed);

/*
 What the store holds now: as of opening it, or of the last refresh. Cheap. End it with
 `fps_snapshot_free`.
 */
fps_status fps_store_snapshot(const struct fps_store *store, struct fps_snapshot **snapshot);

/*
 Ends a snapshot; NULL does nothing. What was made from it stays.
 */
void fps_snapshot_free(struct fps_snapshot *snapshot);

/*
 All stored fingerprints within Hamming distance `k` of one, the nearest first, of equal distance
 the lesser first. Writes up to `capacity` of them to `matches`, which may be NULL where that is
 0, and to `count` how many there are: where that is more, the nearest ones were written. Who
 asks many times keeps an `fps_searcher`.

 FPS_INVALID_INPUT if the fingerprint has another width, or `k` is greater; FPS_CORRUPT if a
 block that is needed is damaged.
 */
fps_status fps_snapshot_search(const struct fps_snapshot *snapshot,
                               const uint8_t *fingerprint,
                               size_t fingerprint_bytes,
                               uint32_t k,
                               struct fps_match *matches,
                               size_t capacity,
                               size_t *count);

/*
 The nearest stored fingerprints within Hamming distance `k`, `capacity` of them or as many as
 there are: in the order of `fps_snapshot_search`. Writes them to `matches`, and their number to
 `count`.

 As `fps_snapshot_search`.
 */
fps_status fps_snapshot_nearest(const struct fps_snapshot *snapshot,
                                const uint8_t *fingerprint,
                                size_t fingerprint_bytes,
                                uint32_t k,
                                struct fps_match *matches,
                                size_t capacity,
                                size_t *count);

/*
 Whether any stored fingerprint is within Hamming distance `k`, which takes less time than
 `fps_snapshot_search`.

 As `fps_snapshot_search`.
 */
fps_status fps_snapshot_any_within(const struct fps_snapshot *snapshot,
                                   const uint8_t *fingerprint,
                                   size_t fingerprint_bytes,
                                   uint32_t k,
                                   bool *found);

/*
 Whether a fingerprint is stored; with an id that is not NULL, whether it is stored with this id.

 As `fps_snapshot_search`; FPS_INVALID_INPUT if the ids of the store are of another kind.
 */
fps_status fps_snapshot_contains(const struct fps_snapshot *snapshot,
                                 const uint8_t *fingerprint,
                                 size_t fingerprint_bytes,
                                 const struct fps_id *id,
                                 bool *found);

/*
 The number of distinct fingerprints, exactly. Takes no time for a store that was packed; else it
 may read all of them, some nanoseconds each.

 FPS_CORRUPT if a block is damaged.
 */
fps_status fps_snapshot_count(const struct fps_snapshot *snapshot, uint64_t *count);

/*
 How the fingerprints were made, in the words of who made the store; NULL where that was not
 said. The text belongs to the snapshot.
 */
const char *fps_snapshot_recipe(const struct fps_snapshot *snapshot);

/*
 A searcher of a snapshot, which may be freed before it. End it with `fps_searcher_free`.
 */
fps_status fps_searcher_new(const struct fps_snapshot *snapshot, struct fps_searcher **searcher);

/*
 Ends a searcher; NULL does nothing.
 */
void fps_searcher_free(struct fps_searcher *searcher);

/*
 Lets queries that are not answered so many microseconds after this call end with FPS_STOPPED. 0
 lets them take as long as they take, as at first.
 */
fps_status fps_searcher_set_timeout(struct fps_searcher *searcher, uint64_t microseconds);

/*
 As `fps_snapshot_search`; FPS_STOPPED when its time has passed.
 */
fps_status fps_searcher_search(struct fps_searcher *searcher,
                               const uint8_t *fingerprint,
                               size_t fingerprint_bytes,
                               uint32_t k,
                               struct fps_match *matches,
                               size_t capacity,
                               size_t *count);

/*
 As `fps_snapshot_nearest`; FPS_STOPPED when its time has passed.
 */
fps_status fps_searcher_nearest(struct fps_searcher *searcher,
                                const uint8_t *fingerprint,
                                size_t fingerprint_bytes,
                                uint32_t k,
                                struct fps_match *matches,
                                size_t capacity,
                                size_t *count);

/*
 As `fps_snapshot_any_within`; FPS_STOPPED when its time has passed.
 */
fps_status fps_searcher_any_within(struct fps_searcher *searcher,
                                   const uint8_t *fingerprint,
                                   size_t fingerprint_bytes,
                                   uint32_t k,
                                   bool *found);

/*
 The ids of a fingerprint in ascending order, each once; none if it is not stored, or the store
 has no ids. `ids` reads as it goes. End it with `fps_ids_free`.

 FPS_INVALID_INPUT if the fingerprint has another width; FPS_CORRUPT if a block that is needed is
 damaged.
 */
fps_status fps_snapshot_ids(const struct fps_snapshot *snapshot,
                            const uint8_t *fingerprint,
                            size_t fingerprint_bytes,
                            struct fps_ids **ids);

/*
 Writes the next id to `id`, whose bytes stay until the next call with these ids. FPS_END when
 all were given; `id` is as it was then.

 FPS_CORRUPT if the ids are damaged; then FPS_END.
 */
fps_status fps_ids_next(struct fps_ids *ids, struct fps_id *id);

/*
 Ends ids; NULL does nothing.
 */
void fps_ids_free(struct fps_ids *ids);

/*
 All fingerprints in ascending order, each once. End it with `fps_cursor_free`.
 */
fps_status fps_snapshot_fingerprints(const struct fps_snapshot *snapshot,
                                     struct fps_cursor **cursor);

/*
 Writes the next fingerprint to `fingerprint`, which has room for `fingerprint_bytes` bytes:
 exactly those of the width. FPS_END when all were given.

 FPS_INVALID_INPUT if there is room for another number of bytes; FPS_CORRUPT if a block is
 damaged; then FPS_END.
 */
fps_status fps_cursor_next(struct fps_cursor *cursor,
                           uint8_t *fingerprint,
                           size_t fingerprint_bytes);

/*
 Ends a cursor; NULL does nothing.
 */
void fps_cursor_free(struct fps_cursor *cursor);

/*
 Searches for `count` fingerprints, of `fingerprint_bytes` bytes each, one behind the other: each
 gets what `fps_snapshot_search` gives. `options` may be NULL. Reads the store once where that
 takes less time than to search for each. A match takes 36 bytes of memory. End the answers with
 `fps_answers_free`.

 As `fps_snapshot_search`; FPS_STOPPED and FPS_OUT_OF_RESOURCES as the options say.
 */
fps_status fps_snapshot_search_batch(const struct fps_snapshot *snapshot,
                                     const uint8_t *fingerprints,
                                     size_t fingerprint_bytes,
                                     size_t count,
                                     uint32_t k,
                                     const struct fps_batch_options *options,
                                     struct fps_answers **answers);

/*
 Points `matches` to the matches of query number `query`, from 0 on, and writes to `count` how
 many these are, and to `total`, which may be NULL, how many there are whatever the limit. The
 matches belong to the answers.

 FPS_INVALID_INPUT if there is no such query.
 */
fps_status fps_answers_get(const struct fps_answers *answers,
                           size_t query,
                           const struct fps_match **matches,
                           size_t *count,
                           uint64_t *total);

/*
 Ends answers; NULL does nothing.
 */
void fps_answers_free(struct fps_answers *answers);

/*
 What a store is made of. `stats` says how large it is (`FPS_STATS_INIT`). Reads headers and
 histograms only.

 FPS_CORRUPT if one is damaged.
 */
fps_status fps_snapshot_stats(const struct fps_snapshot *snapshot, struct fps_stats *stats);

/*
 Starts to pack a set into a store in the directory `path`, which is created. `options` may be
 NULL. There is no store, or still the old one, until `fps_packer_finish` returns. End it with
 `fps_packer_free`.

 FPS_INVALID_INPUT for options; FPS_ALREADY_EXISTS if something stands at the path; FPS_IO.
 */
fps_status fps_packer_start(const char *path,
                            const struct fps_pack_options *options,
                            struct fps_packer **packer);

/*
 Takes `count` fingerprints, of `fingerprint_bytes` bytes each, one behind the other, in any
 order and with any duplicates; and as many ids, or NULL. All fingerprints of a pack have ids, or
 none has; a fingerprint may have any number of them.

 FPS_INVALID_INPUT for another width, ids of several kinds, or ids of some only; FPS_IO and
 FPS_OUT_OF_RESOURCES when temporary files are written. After a failure only `fps_packer_free` is
 left.
 */
fps_status fps_packer_add(const struct fps_packer *packer,
                          const uint8_t *fingerprints,
                          size_t fingerprint_bytes,
                          size_t count,
                          const struct fps_id *ids);

/*
 Writes the store and makes it visible, durably. `summary` may be NULL. What is called
 afterwards, but for `fps_packer_free`, fails.

 FPS_BUSY while another process writes there, FPS_IO, FPS_OUT_OF_RESOURCES: what was written is
 removed.
 */
fps_status fps_packer_finish(const struct fps_packer *packer, struct fps_pack_summary *summary);

/*
 Ends a pack; NULL does nothing. One that was not finished leaves what was there before.
 */
void fps_packer_free(struct fps_packer *packer);

/*
 Packs a set that is in memory: `fps_packer_start`, `fps_packer_add` and `fps_packer_finish` in
 one.

 As these.
 */
fps_status fps_pack(const char *path,
                    const struct fps_pack_options *options,
                    const uint8_t *fingerprints,
                    size_t fingerprint_bytes,
                    size_t count,
                    const struct fps_id *ids,
                    struct fps_pack_summary *summary);

/*
 Creates an empty store in the directory `path`, which is created as well, and gives its writer.
 Both options may be NULL. End it with `fps_writer_close` and `fps_writer_free`.

 FPS_INVALID_INPUT for options; FPS_ALREADY_EXISTS if something stands at the path; FPS_BUSY
 while another process writes there; FPS_IO.
 */
fps_status fps_create(const char *path,
                      const struct fps_create_options *create_options,
                      const struct fps_writer_options *writer_options,
                      struct fps_writer **writer);

/*
 Opens the store in the directory `path` for writing, also one that was packed. `options` may be
 NULL. End it with `fps_writer_close` and `fps_writer_free`.

 As `fps_store_open`; FPS_BUSY while another writer is open there, FPS_UNSUPPORTED where a
 program must know more to write it.
 */
fps_status fps_writer_open(const char *path,
                           const struct fps_writer_options *options,
                           struct fps_writer **writer);

/*
 Makes all durable and ends writing, after calls of other threads have returned; then others may
 write the store. A writer that is closed already stays so. The handle is still to be freed.

 FPS_IO: what was written is not known to be durable.
 */
fps_status fps_writer_close(const struct fps_writer *writer);

/*
 Frees a writer; NULL does nothing. One that was not closed hands all that was written to the
 system, but tells no errors.
 */
void fps_writer_free(struct fps_writer *writer);

/*
 Inserts `count` fingerprints, of `fingerprint_bytes` bytes each, one behind the other, with as
 many ids; `ids` is NULL where the store has none. Nothing changes for pairs that are stored
 already. Up to 32,768 are seen, and survive a crash, all or none; more are cut into such.

 FPS_INVALID_INPUT for another width or kind of ids; FPS_IO and FPS_OUT_OF_RESOURCES if there is
 no room in memory and a segment cannot be written.
 */
fps_status fps_writer_insert(const struct fps_writer *writer,
                             const uint8_t *fingerprints,
                             size_t fingerprint_bytes,
                             size_t count,
                             const struct fps_id *ids);

/*
 Deletes `count` fingerprints with all their ids, or, with ids, these pairs alone: with its last
 id a fingerprint goes. What is not stored is left out.

 As `fps_writer_insert`.
 */
fps_status fps_writer_delete(const struct fps_writer *writer,
                             const uint8_t *fingerprints,
                             size_t fingerprint_bytes,
                             size_t count,
                             const struct fps_id *ids);

/*
 Deletes an id wherever it is stored, and writes to `count`, which may be NULL, how many
 fingerprints had it. Reads all fingerprints and ids, some 50 ns for each.

 As `fps_writer_insert`; FPS_CORRUPT if a block is damaged: then nothing is deleted.
 */
fps_status fps_writer_delete_id(const struct fps_writer *writer,
                                const struct fps_id *id,
                                size_t *count);

/*
 Looks for fingerprints within Hamming distance `k`, and inserts this one only if there is none;
 nobody writes in between. `count` is 0 if it was inserted. Otherwise it is the number of those
 that are near, which are written as by `fps_snapshot_search`. `id` is NULL where the store has
 none.

 As `fps_writer_insert` and `fps_snapshot_search`.
 */
fps_status fps_writer_check_and_insert(const struct fps_writer *writer,
                                       const uint8_t *fingerprint,
                                       size_t fingerprint_bytes,
                                       const struct fps_id *id,
                                       uint32_t k,
                                       struct fps_match *matches,
                                       size_t capacity,
                                       size_t *count);

/*
 Makes all that was written so far as durable as `durability` says, one of
 `FPS_DURABILITY_GROUP`, `_IMMEDIATE` and `_EVENTUAL`, and visible to other processes at their
 next `fps_store_refresh`.

 FPS_IO: what was written is seen all the same, is not known to be durable, and is written again
 with the next commit.
 */
fps_status fps_writer_commit(const struct fps_writer *writer, uint32_t durability);

/*
 Makes segments of all that was written so far, which is durable then.

 FPS_IO: nothing is lost, and the next flush tries again.
 */
fps_status fps_writer_flush(const struct fps_writer *writer);

/*
 Merges segments until there are few: what happens in the background by itself. With `all` not 0,
 makes one of all: the smallest and fastest store, from which deleted records are gone. That
 reads and writes the whole store.

 FPS_IO, FPS_CORRUPT: the segments stay as they are.
 */
fps_status fps_writer_merge(const struct fps_writer *writer, uint8_t all);

/*
 What the store holds now, with all that was written so far. End it with `fps_snapshot_free`.
 */
fps_status fps_writer_snapshot(const struct fps_writer *writer, struct fps_snapshot **snapshot);

/*
 Searches for `count` fingerprints, of `fingerprint_bytes` bytes each, one behind the other: each
 gets what `fps_snapshot_search` gives. `options` may be NULL. Reads the store once where that
 takes less time than to search for each. A match takes 36 bytes of memory. End the answers with
 `fps_answers_free`.

 As `fps_snapshot_search`; FPS_STOPPED and FPS_OUT_OF_RESOURCES as the options say.
 */
fps_status fps_snapshot_search_batch(const struct fps_snapshot *snapshot,
                                     const uint8_t *fingerprints,
                                     size_t fingerprint_bytes,
                                     size_t count,
                                     uint32_t k,
                                     const struct fps_batch_options *options,
                                     struct fps_answers **answers);

/*
 Points `matches` to the matches of query number `query`, from 0 on, and writes to `count` how
 many these are, and to `total`, which may be NULL, how many there are whatever the limit. The
 matches belong to the answers.

 FPS_INVALID_INPUT if there is no such query.
 */
fps_status fps_answers_get(const struct fps_answers *answers,
                           size_t query,
                           const struct fps_match **matches,
                           size_t *count,
                           uint64_t *total);

/*
 Ends answers; NULL does nothing.
 */
void fps_answers_free(struct fps_answers *answers);

/*
 What went wrong in the last call of this thread that failed: one line in UTF-8, which names the
 file, what was found, and what to do. Empty if none has failed. Calls that succeed leave it as
 it is, so look at it only where a status says so. The text belongs to the library and stays
 until the next call of this thread that fails, `fps_clear_error`, or the end of the thread.
 */
const char *fps_last_error(void);

/*
 Forgets the last error of this thread.
 */
void fps_clear_error(void);

/*
 The name of a status, such as `"FPS_CORRUPT"`; `"unknown"` of another number. The text is
 static.
 */
const char *fps_status_name(int32_t status);

/*
 The ids of a fingerprint in ascending order, each once; none if it is not stored, or the store
 has no ids. `ids` reads as it goes. End it with `fps_ids_free`.

 FPS_INVALID_INPUT if the fingerprint has another width; FPS_CORRUPT if a block that is needed is
 damaged.
 */
fps_status fps_snapshot_ids(const struct fps_snapshot *snapshot,
                            const uint8_t *fingerprint,
                            size_t fingerprint_bytes,
                            struct fps_ids **ids);

/*
 Writes the next id to `id`, whose bytes stay until the next call with these ids. FPS_END when
 all were given; `id` is as it was then.

 FPS_CORRUPT if the ids are damaged; then FPS_END.
 */
fps_status fps_ids_next(struct fps_ids *ids, struct fps_id *id);

/*
 Ends ids; NULL does nothing.
 */
void fps_ids_free(struct fps_ids *ids);

/*
 All fingerprints in ascending order, each once. End it with `fps_cursor_free`.
 */
fps_status fps_snapshot_fingerprints(const struct fps_snapshot *snapshot,
                                     struct fps_cursor **cursor);

/*
 Writes the next fingerprint to `fingerprint`, which has room for `fingerprint_bytes` bytes:
 exactly those of the width. FPS_END when all were given.

 FPS_INVALID_INPUT if there is room for another number of bytes; FPS_CORRUPT if a block is
 damaged; then FPS_END.
 */
fps_status fps_cursor_next(struct fps_cursor *cursor,
                           uint8_t *fingerprint,
                           size_t fingerprint_bytes);

/*
 Ends a cursor; NULL does nothing.
 */
void fps_cursor_free(struct fps_cursor *cursor);

/*
 Starts to pack a set into a store in the directory `path`, which is created. `options` may be
 NULL. There is no store, or still the old one, until `fps_packer_finish` returns. End it with
 `fps_packer_free`.

 FPS_INVALID_INPUT for options; FPS_ALREADY_EXISTS if something stands at the path; FPS_IO.
 */
fps_status fps_packer_start(const char *path,
                            const struct fps_pack_options *options,
                            struct fps_packer **packer);

/*
 Takes `count` fingerprints, of `fingerprint_bytes` bytes each, one behind the other, in any
 order and with any duplicates; and as many ids, or NULL. All fingerprints of a pack have ids, or
 none has; a fingerprint may have any number of them.

 FPS_INVALID_INPUT for another width, ids of several kinds, or ids of some only; FPS_IO and
 FPS_OUT_OF_RESOURCES when temporary files are written. After a failure only `fps_packer_free` is
 left.
 */
fps_status fps_packer_add(const struct fps_packer *packer,
                          const uint8_t *fingerprints,
                          size_t fingerprint_bytes,
                          size_t count,
                          const struct fps_id *ids);

/*
 Writes the store and makes it visible, durably. `summary` may be NULL. What is called
 afterwards, but for `fps_packer_free`, fails.

 FPS_BUSY while another process writes there, FPS_IO, FPS_OUT_OF_RESOURCES: what was written is
 removed.
 */
fps_status fps_packer_finish(const struct fps_packer *packer, struct fps_pack_summary *summary);

/*
 Ends a pack; NULL does nothing. One that was not finished leaves what was there before.
 */
void fps_packer_free(struct fps_packer *packer);

/*
 Packs a set that is in memory: `fps_packer_start`, `fps_packer_add` and `fps_packer_finish` in
 one.

 As these.
 */
fps_status fps_pack(const char *path,
                    const struct fps_pack_options *options,
                    const uint8_t *fingerprints,
                    size_t fingerprint_bytes,
                    size_t count,
                    const struct fps_id *ids,
                    struct fps_pack_summary *summary);

/*
 A searcher of a snapshot, which may be freed before it. End it with `fps_searcher_free`.
 */
fps_status fps_searcher_new(const struct fps_snapshot *snapshot, struct fps_searcher **searcher);

/*
 Ends a searcher; NULL does nothing.
 */
void fps_searcher_free(struct fps_searcher *searcher);

/*
 Lets queries that are not answered so many microseconds after this call end with FPS_STOPPED. 0
 lets them take as long as they take, as at first.
 */
fps_status fps_searcher_set_timeout(struct fps_searcher *searcher, uint64_t microseconds);

/*
 As `fps_snapshot_search`; FPS_STOPPED when its time has passed.
 */
fps_status fps_searcher_search(struct fps_searcher *searcher,
                               const uint8_t *fingerprint,
                               size_t fingerprint_bytes,
                               uint32_t k,
                               struct fps_match *matches,
                               size_t capacity,
                               size_t *count);

/*
 As `fps_snapshot_nearest`; FPS_STOPPED when its time has passed.
 */
fps_status fps_searcher_nearest(struct fps_searcher *searcher,
                                const uint8_t *fingerprint,
                                size_t fingerprint_bytes,
                                uint32_t k,
                                struct fps_match *matches,
                                size_t capacity,
                                size_t *count);

/*
 As `fps_snapshot_any_within`; FPS_STOPPED when its time has passed.
 */
fps_status fps_searcher_any_within(struct fps_searcher *searcher,
                                   const uint8_t *fingerprint,
                                   size_t fingerprint_bytes,
                                   uint32_t k,
                                   bool *found);

/*
 Ends a snapshot; NULL does nothing. What was made from it stays.
 */
void fps_snapshot_free(struct fps_snapshot *snapshot);

/*
 All stored fingerprints within Hamming distance `k` of one, the nearest first, of equal distance
 the lesser first. Writes up to `capacity` of them to `matches`, which may be NULL where that is
 0, and to `count` how many there are: where that is more, the nearest ones were written. Who
 asks many times keeps an `fps_searcher`.

 FPS_INVALID_INPUT if the fingerprint has another width, or `k` is greater; FPS_CORRUPT if a
 block that is needed is damaged.
 */
fps_status fps_snapshot_search(const struct fps_snapshot *snapshot,
                               const uint8_t *fingerprint,
                               size_t fingerprint_bytes,
                               uint32_t k,
                               struct fps_match *matches,
                               size_t capacity,
                               size_t *count);

/*
 The nearest stored fingerprints within Hamming distance `k`, `capacity` of them or as many as
 there are: in the order of `fps_snapshot_search`. Writes them to `matches`, and their number to
 `count`.

 As `fps_snapshot_search`.
 */
fps_status fps_snapshot_nearest(const struct fps_snapshot *snapshot,
                                const uint8_t *fingerprint,
                                size_t fingerprint_bytes,
                                uint32_t k,
                                struct fps_match *matches,
                                size_t capacity,
                                size_t *count);

/*
 Whether any stored fingerprint is within Hamming distance `k`, which takes less time than
 `fps_snapshot_search`.

 As `fps_snapshot_search`.
 */
fps_status fps_snapshot_any_within(const struct fps_snapshot *snapshot,
                                   const uint8_t *fingerprint,
                                   size_t fingerprint_bytes,
                                   uint32_t k,
                                   bool *found);

/*
 Whether a fingerprint is stored; with an id that is not NULL, whether it is stored with this id.

 As `fps_snapshot_search`; FPS_INVALID_INPUT if the ids of the store are of another kind.
 */
fps_status fps_snapshot_contains(const struct fps_snapshot *snapshot,
                                 const uint8_t *fingerprint,
                                 size_t fingerprint_bytes,
                                 const struct fps_id *id,
                                 bool *found);

/*
 The number of distinct fingerprints, exactly. Takes no time for a store that was packed; else it
 may read all of them, some nanoseconds each.

 FPS_CORRUPT if a block is damaged.
 */
fps_status fps_snapshot_count(const struct fps_snapshot *snapshot, uint64_t *count);

/*
 How the fingerprints were made, in the words of who made the store; NULL where that was not
 said. The text belongs to the snapshot.
 */
const char *fps_snapshot_recipe(const struct fps_snapshot *snapshot);

/*
 What a store is made of. `stats` says how large it is (`FPS_STATS_INIT`). Reads headers and
 histograms only.

 FPS_CORRUPT if one is damaged.
 */
fps_status fps_snapshot_stats(const struct fps_snapshot *snapshot, struct fps_stats *stats);

/*
 Opens the store in the directory `path`, of whatever width. `options` may be NULL. Takes no lock
 and needs no permission to write. End it with `fps_store_close`.

 FPS_NOT_FOUND, FPS_CORRUPT, FPS_UNSUPPORTED, FPS_IO.
 */
fps_status fps_store_open(const char *path,
                          const struct fps_open_options *options,
                          struct fps_store **store);

/*
 Ends a store; NULL does nothing. Its snapshots stay.
 */
void fps_store_close(struct fps_store *store);

/*
 Looks whether the store was written since, and if so shows what it holds now, to later
 snapshots; `changed`, which may be NULL, tells whether. Takes 20 to 40 us where nothing was
 written.

 As `fps_store_open`; the store is as it was then.
 */
fps_status fps_store_refresh(const struct fps_store *store, bool *changed);

/*
 What the store holds now: as of opening it, or of the last refresh. Cheap. End it with
 `fps_snapshot_free`.
 */
fps_status fps_store_snapshot(const struct fps_store *store, struct fps_snapshot **snapshot);

/*
 The version of the library that runs, as `FPSTORE_VERSION` gives that of the header: `"0.1.0"`.
 The text is static.
 */
const char *fps_version(void);

/*
 Creates an empty store in the directory `path`, which is created as well, and gives its writer.
 Both options may be NULL. End it with `fps_writer_close` and `fps_writer_free`.

 FPS_INVALID_INPUT for options; FPS_ALREADY_EXISTS if something stands at the path; FPS_BUSY
 while another process writes there; FPS_IO.
 */
fps_status fps_create(const char *path,
                      const struct fps_create_options *create_options,
                      const struct fps_writer_options *writer_options,
                      struct fps_writer **writer);

/*
 Opens the store in the directory `path` for writing, also one that was packed. `options` may be
 NULL. End it with `fps_writer_close` and `fps_writer_free`.

 As `fps_store_open`; FPS_BUSY while another writer is open there, FPS_UNSUPPORTED where a
 program must know more to write it.
 */
fps_status fps_writer_open(const char *path,
                           const struct fps_writer_options *options,
                           struct fps_writer **writer);

/*
 Makes all durable and ends writing, after calls of other threads have returned; then others may
 write the store. A writer that is closed already stays so. The handle is still to be freed.

 FPS_IO: what was written is not known to be durable.
 */
fps_status fps_writer_close(const struct fps_writer *writer);

/*
 Frees a writer; NULL does nothing. One that was not closed hands all that was written to the
 system, but tells no errors.
 */
void fps_writer_free(struct fps_writer *writer);

/*
 Inserts `count` fingerprints, of `fingerprint_bytes` bytes each, one behind the other, with as
 many ids; `ids` is NULL where the store has none. Nothing changes for pairs that are stored
 already. Up to 32,768 are seen, and survive a crash, all or none; more are cut into such.

 FPS_INVALID_INPUT for another width or kind of ids; FPS_IO and FPS_OUT_OF_RESOURCES if there is
 no room in memory and a segment cannot be written.
 */
fps_status fps_writer_insert(const struct fps_writer *writer,
                             const uint8_t *fingerprints,
                             size_t fingerprint_bytes,
                             size_t count,
                             const struct fps_id *ids);

/*
 Deletes `count` fingerprints with all their ids, or, with ids, these pairs alone: with its last
 id a fingerprint goes. What is not stored is left out.

 As `fps_writer_insert`.
 */
fps_status fps_writer_delete(const struct fps_writer *writer,
                             const uint8_t *fingerprints,
                             size_t fingerprint_bytes,
                             size_t count,
                             const struct fps_id *ids);

/*
 Deletes an id wherever it is stored, and writes to `count`, which may be NULL, how many
 fingerprints had it. Reads all fingerprints and ids, some 50 ns for each.

 As `fps_writer_insert`; FPS_CORRUPT if a block is damaged: then nothing is deleted.
 */
fps_status fps_writer_delete_id(const struct fps_writer *writer,
                                const struct fps_id *id,
                                size_t *count);

/*
 Looks for fingerprints within Hamming distance `k`, and inserts this one only if there is none;
 nobody writes in between. `count` is 0 if it was inserted. Otherwise it is the number of those
 that are near, which are written as by `fps_snapshot_search`. `id` is NULL where the store has
 none.

 As `fps_writer_insert` and `fps_snapshot_search`.
 */
fps_status fps_writer_check_and_insert(const struct fps_writer *writer,
                                       const uint8_t *fingerprint,
                                       size_t fingerprint_bytes,
                                       const struct fps_id *id,
                                       uint32_t k,
                                       struct fps_match *matches,
                                       size_t capacity,
                                       size_t *count);

/*
 Makes all that was written so far as durable as `durability` says, one of
 `FPS_DURABILITY_GROUP`, `_IMMEDIATE` and `_EVENTUAL`, and visible to other processes at their
 next `fps_store_refresh`.

 FPS_IO: what was written is seen all the same, is not known to be durable, and is written again
 with the next commit.
 */
fps_status fps_writer_commit(const struct fps_writer *writer, uint32_t durability);

/*
 Makes segments of all that was written so far, which is durable then.

 FPS_IO: nothing is lost, and the next flush tries again.
 */
fps_status fps_writer_flush(const struct fps_writer *writer);

/*
 Merges segments until there are few: what happens in the background by itself. With `all` not 0,
 makes one of all: the smallest and fastest store, from which deleted records are gone. That
 reads and writes the whole store.

 FPS_IO, FPS_CORRUPT: the segments stay as they are.
 */
fps_status fps_writer_merge(const struct fps_writer *writer, uint8_t all);

/*
 What the store holds now, with all that was written so far. End it with `fps_snapshot_free`.
 */
fps_status fps_writer_snapshot(const struct fps_writer *writer, struct fps_snapshot **snapshot);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FPSTORE_H */

/* Structures with all defaults. */
#define FPS_OPEN_OPTIONS_INIT {sizeof(fps_open_options), -1, 0}
#define FPS_PACK_OPTIONS_INIT \
  {sizeof(fps_pack_options), 64, 3, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL}
#define FPS_CREATE_OPTIONS_INIT \
  {sizeof(fps_create_options), 64, 3, FPS_ID_NUMBER, 0, NULL, 0, 0, NULL}
#define FPS_WRITER_OPTIONS_INIT {sizeof(fps_writer_options), FPS_DURABILITY_GROUP, 50, 0, 0}
#define FPS_BATCH_OPTIONS_INIT {sizeof(fps_batch_options), UINT64_MAX, 0, 0, 0}
#define FPS_PACK_SUMMARY_INIT {sizeof(fps_pack_summary), 0, 0, 0, 0}
#define FPS_STATS_INIT {sizeof(fps_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}

/* Ids. They point to what they are given, which must stay as long as they are used. */
static inline fps_id fps_id_number(uint64_t number) {
  fps_id id = {FPS_ID_NUMBER, number, NULL, 0};
  return id;
}
static inline fps_id fps_id_text(const char *text) {
  fps_id id = {FPS_ID_TEXT, 0, (const uint8_t *)text, strlen(text)};
  return id;
}
static inline fps_id fps_id_uuid(const uint8_t bytes[16]) {
  fps_id id = {FPS_ID_UUID, 0, bytes, 16};
  return id;
}
static inline fps_id fps_id_number128(const uint8_t bytes[16]) {
  fps_id id = {FPS_ID_NUMBER128, 0, bytes, 16};
  return id;
}
static inline fps_id fps_id_bytes(const uint8_t *bytes, size_t length) {
  fps_id id = {FPS_ID_BYTES, 0, bytes, length};
  return id;
}
