/*
 * Calls every function with good arguments, and with each wrong one that C can hand over. Run under
 * what finds errors in memory, and leaks: what a failed call has begun must be gone.
 */
#include <fpstore.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *directory;
static int calls;

#define EXPECT(status, call) expect(status, call, #call, __LINE__)
#define OK(call) EXPECT(FPS_OK, call)
#define WRONG(call) EXPECT(FPS_INVALID_INPUT, call)
#define TRUE(condition) truth(condition, #condition, __LINE__)

static void fail(const char *what, int line) {
  fprintf(stderr, "every.c:%d: %s\n", line, what);
  exit(1);
}

static void truth(int condition, const char *what, int line) {
  if (!condition) fail(what, line);
}

static void expect(fps_status expected, fps_status status, const char *call, int line) {
  calls++;
  if (status != expected) {
    fprintf(stderr, "%s instead of %s: %s\n", fps_status_name(status), fps_status_name(expected),
            fps_last_error());
    fail(call, line);
  }
  /* Whatever fails says why; what ends, or succeeds, says nothing. */
  truth((strlen(fps_last_error()) > 0) == (status > FPS_END), call, line);
  fps_clear_error();
}

static const char *path_of(const char *name) {
  static char paths[4][4096];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, 4096, "%s/%s", directory, name);
  return path;
}

/* A pointer that is aligned for nothing. */
#define ODD(type) ((type *)(void *)(storage + 1))
static unsigned char storage[64];

static void fill(uint8_t *bytes, size_t length, unsigned seed) {
  for (size_t i = 0; i < length; i++) {
    seed = seed * 1103515245u + 12345u;
    bytes[i] = (uint8_t)(seed >> 16);
  }
}

static void versions(void) {
  TRUE(strcmp(fps_version(), FPSTORE_VERSION) == 0);
  TRUE(FPSTORE_VERSION_NUMBER == FPSTORE_VERSION_MAJOR * 1000000 + FPSTORE_VERSION_MINOR * 1000 +
                                     FPSTORE_VERSION_PATCH);
  TRUE(strcmp(fps_status_name(FPS_CORRUPT), "FPS_CORRUPT") == 0);
  TRUE(strcmp(fps_status_name(99), "unknown") == 0);
  TRUE(strcmp(fps_last_error(), "") == 0);
  /* NULL is freed. */
  fps_store_close(NULL);
  fps_snapshot_free(NULL);
  fps_searcher_free(NULL);
  fps_ids_free(NULL);
  fps_cursor_free(NULL);
  fps_answers_free(NULL);
  fps_packer_free(NULL);
  fps_writer_free(NULL);
}

/* All queries of a store, of fingerprints of so many bytes, of which `stored` is one. */
static void queries(const char *path, const uint8_t *stored, size_t bytes, const fps_id *id) {
  fps_store *store = NULL;
  fps_open_options options = FPS_OPEN_OPTIONS_INIT;
  options.in_memory = 1;
  OK(fps_store_open(path, &options, &store));
  fps_store_close(store);
  WRONG(fps_store_open(NULL, NULL, &store));
  TRUE(store == NULL);
  WRONG(fps_store_open("", NULL, &store));
  WRONG(fps_store_open(path, NULL, NULL));
  WRONG(fps_store_open(path, NULL, ODD(fps_store *)));
  WRONG(fps_store_open(path, ODD(fps_open_options), &store));
  options.size = 3;
  WRONG(fps_store_open(path, &options, &store));
  EXPECT(FPS_NOT_FOUND, fps_store_open(path_of("nothing"), NULL, &store));
  OK(fps_store_open(path, NULL, &store));

  bool flag = true;
  OK(fps_store_refresh(store, &flag));
  TRUE(!flag);
  OK(fps_store_refresh(store, NULL));
  WRONG(fps_store_refresh(NULL, &flag));

  fps_snapshot *snapshot = NULL;
  WRONG(fps_store_snapshot(NULL, &snapshot));
  WRONG(fps_store_snapshot(store, NULL));
  OK(fps_store_snapshot(store, &snapshot));
  /* It outlives the store. */
  fps_store_close(store);

  fps_match matches[3];
  size_t count = 9;
  uint32_t bits = (uint32_t)bytes * 8;
  OK(fps_snapshot_search(snapshot, stored, bytes, 0, matches, 3, &count));
  TRUE(count == 1 && matches[0].distance == 0);
  TRUE(memcmp(matches[0].fingerprint, stored, bytes) == 0);
  for (size_t i = bytes; i < 32; i++) TRUE(matches[0].fingerprint[i] == 0);
  OK(fps_snapshot_search(snapshot, stored, bytes, bits, matches, 3, &count));
  TRUE(count > 3 && matches[0].distance <= matches[1].distance);
  OK(fps_snapshot_search(snapshot, stored, bytes, bits, NULL, 0, &count));
  TRUE(count > 3);
  WRONG(fps_snapshot_search(NULL, stored, bytes, 0, matches, 3, &count));
  TRUE(count == 0);
  WRONG(fps_snapshot_search(snapshot, NULL, bytes, 0, matches, 3, &count));
  WRONG(fps_snapshot_search(snapshot, stored, bytes - 1, 0, matches, 3, &count));
  WRONG(fps_snapshot_search(snapshot, stored, 0, 0, matches, 3, &count));
  WRONG(fps_snapshot_search(snapshot, stored, SIZE_MAX, 0, matches, 3, &count));
  WRONG(fps_snapshot_search(snapshot, stored, bytes, bits + 1, matches, 3, &count));
  WRONG(fps_snapshot_search(snapshot, stored, bytes, 0, NULL, 3, &count));
  WRONG(fps_snapshot_search(snapshot, stored, bytes, 0, ODD(fps_match), 3, &count));
  WRONG(fps_snapshot_search(snapshot, stored, bytes, 0, matches, SIZE_MAX, &count));
  WRONG(fps_snapshot_search(snapshot, stored, bytes, 0, matches, 3, NULL));

  OK(fps_snapshot_nearest(snapshot, stored, bytes, bits, matches, 3, &count));
  TRUE(count == 3 && matches[0].distance == 0);
  OK(fps_snapshot_nearest(snapshot, stored, bytes, bits, NULL, 0, &count));
  TRUE(count == 0);
  WRONG(fps_snapshot_nearest(NULL, stored, bytes, 0, matches, 3, &count));
  WRONG(fps_snapshot_nearest(snapshot, stored, bytes + 1, 0, matches, 3, &count));
  WRONG(fps_snapshot_nearest(snapshot, stored, bytes, bits + 1, matches, 3, &count));
  WRONG(fps_snapshot_nearest(snapshot, stored, bytes, 0, NULL, 3, &count));
  WRONG(fps_snapshot_nearest(snapshot, stored, bytes, 0, matches, 3, NULL));

  OK(fps_snapshot_any_within(snapshot, stored, bytes, 3, &flag));
  TRUE(flag);
  WRONG(fps_snapshot_any_within(NULL, stored, bytes, 3, &flag));
  WRONG(fps_snapshot_any_within(snapshot, NULL, bytes, 3, &flag));
  WRONG(fps_snapshot_any_within(snapshot, stored, bytes, bits + 1, &flag));
  WRONG(fps_snapshot_any_within(snapshot, stored, bytes, 3, NULL));

  OK(fps_snapshot_contains(snapshot, stored, bytes, NULL, &flag));
  TRUE(flag);
  OK(fps_snapshot_contains(snapshot, stored, bytes, id, &flag));
  TRUE(flag);
  WRONG(fps_snapshot_contains(NULL, stored, bytes, NULL, &flag));
  WRONG(fps_snapshot_contains(snapshot, stored, 5, NULL, &flag));
  WRONG(fps_snapshot_contains(snapshot, stored, bytes, NULL, NULL));
  if (id != NULL) {
    fps_id other = id->kind == FPS_ID_NUMBER ? fps_id_text("a") : fps_id_number(1);
    WRONG(fps_snapshot_contains(snapshot, stored, bytes, &other, &flag));
    other.kind = 77;
    WRONG(fps_snapshot_contains(snapshot, stored, bytes, &other, &flag));
    other.kind = FPS_ID_NONE;
    WRONG(fps_snapshot_contains(snapshot, stored, bytes, &other, &flag));
    other = fps_id_text("\xff");
    WRONG(fps_snapshot_contains(snapshot, stored, bytes, &other, &flag));
    other = fps_id_bytes(NULL, 4);
    WRONG(fps_snapshot_contains(snapshot, stored, bytes, &other, &flag));
    other = fps_id_bytes(stored, SIZE_MAX);
    WRONG(fps_snapshot_contains(snapshot, stored, bytes, &other, &flag));
    other = fps_id_uuid(stored);
    other.length = 3;
    WRONG(fps_snapshot_contains(snapshot, stored, bytes, &other, &flag));
  }

  fps_ids *ids = NULL;
  fps_id found;
  OK(fps_snapshot_ids(snapshot, stored, bytes, &ids));
  if (id != NULL) {
    OK(fps_ids_next(ids, &found));
    TRUE(found.kind == id->kind && found.number == id->number && found.length == id->length);
    TRUE(memcmp(found.bytes, id->bytes != NULL ? (const void *)id->bytes : "", id->length) == 0);
    TRUE(found.bytes[found.length] == 0);
  }
  EXPECT(FPS_END, fps_ids_next(ids, &found));
  EXPECT(FPS_END, fps_ids_next(ids, &found));
  WRONG(fps_ids_next(NULL, &found));
  WRONG(fps_ids_next(ids, NULL));
  fps_ids_free(ids);
  WRONG(fps_snapshot_ids(NULL, stored, bytes, &ids));
  WRONG(fps_snapshot_ids(snapshot, stored, 3, &ids));
  TRUE(ids == NULL);
  WRONG(fps_snapshot_ids(snapshot, stored, bytes, NULL));

  fps_cursor *cursor = NULL;
  uint8_t last[32] = {0}, next[33] = {0};
  uint64_t distinct = 0, steps = 0;
  OK(fps_snapshot_count(snapshot, &distinct));
  WRONG(fps_snapshot_count(NULL, &distinct));
  WRONG(fps_snapshot_count(snapshot, NULL));
  OK(fps_snapshot_fingerprints(snapshot, &cursor));
  WRONG(fps_cursor_next(cursor, next, 33));
  WRONG(fps_cursor_next(cursor, NULL, bytes));
  WRONG(fps_cursor_next(NULL, next, bytes));
  for (; fps_cursor_next(cursor, next, bytes) == FPS_OK; steps++) {
    TRUE(steps == 0 || memcmp(last, next, bytes) < 0);
    memcpy(last, next, bytes);
  }
  TRUE(steps == distinct && steps > 3);
  EXPECT(FPS_END, fps_cursor_next(cursor, next, bytes));
  fps_cursor_free(cursor);
  WRONG(fps_snapshot_fingerprints(NULL, &cursor));
  WRONG(fps_snapshot_fingerprints(snapshot, NULL));

  fps_answers *answers = NULL;
  const fps_match *own = NULL;
  uint8_t two[64];
  uint64_t total = 0;
  memcpy(two, stored, bytes);
  memcpy(two + bytes, stored, bytes);
  two[bytes] ^= 1;
  fps_batch_options batch = FPS_BATCH_OPTIONS_INIT;
  OK(fps_snapshot_search_batch(snapshot, two, bytes, 2, 1, NULL, &answers));
  OK(fps_answers_get(answers, 0, &own, &count, &total));
  TRUE(count == 1 && total == 1 && own[0].distance == 0);
  OK(fps_answers_get(answers, 1, &own, &count, NULL));
  TRUE(count == 1 && own[0].distance == 1);
  WRONG(fps_answers_get(answers, 2, &own, &count, &total));
  WRONG(fps_answers_get(NULL, 0, &own, &count, &total));
  WRONG(fps_answers_get(answers, 0, NULL, &count, &total));
  WRONG(fps_answers_get(answers, 0, &own, NULL, &total));
  fps_answers_free(answers);
  batch.limit = 0;
  batch.threads = 1;
  OK(fps_snapshot_search_batch(snapshot, two, bytes, 2, bits, &batch, &answers));
  OK(fps_answers_get(answers, 1, &own, &count, &total));
  TRUE(count == 0 && total == distinct);
  fps_answers_free(answers);
  OK(fps_snapshot_search_batch(snapshot, NULL, bytes, 0, 1, NULL, &answers));
  WRONG(fps_answers_get(answers, 0, &own, &count, &total));
  fps_answers_free(answers);
  WRONG(fps_snapshot_search_batch(NULL, two, bytes, 2, 1, NULL, &answers));
  WRONG(fps_snapshot_search_batch(snapshot, NULL, bytes, 2, 1, NULL, &answers));
  WRONG(fps_snapshot_search_batch(snapshot, two, bytes - 1, 2, 1, NULL, &answers));
  WRONG(fps_snapshot_search_batch(snapshot, two, bytes, SIZE_MAX, 1, NULL, &answers));
  WRONG(fps_snapshot_search_batch(snapshot, two, bytes, SIZE_MAX / bytes, 1, NULL, &answers));
  WRONG(fps_snapshot_search_batch(snapshot, two, bytes, 2, bits + 1, NULL, &answers));
  WRONG(fps_snapshot_search_batch(snapshot, two, bytes, 2, 1, NULL, NULL));
  TRUE(answers == NULL);
  batch.threads = 100000;
  WRONG(fps_snapshot_search_batch(snapshot, two, bytes, 2, 1, &batch, &answers));
  batch.threads = 1;
  batch.memory_bytes = 1;
  EXPECT(FPS_OUT_OF_RESOURCES,
         fps_snapshot_search_batch(snapshot, two, bytes, 2, 1, &batch, &answers));

  fps_stats stats = FPS_STATS_INIT;
  OK(fps_snapshot_stats(snapshot, &stats));
  TRUE(stats.bits == bits && stats.radius == 3 && stats.fingerprints >= distinct);
  TRUE(stats.id_kind == (id != NULL ? id->kind : FPS_ID_NONE));
  WRONG(fps_snapshot_stats(NULL, &stats));
  WRONG(fps_snapshot_stats(snapshot, NULL));
  stats.size = 0;
  WRONG(fps_snapshot_stats(snapshot, &stats));
  TRUE(fps_snapshot_recipe(snapshot) == NULL);
  TRUE(fps_snapshot_recipe(NULL) == NULL);
  fps_clear_error();

  fps_searcher *searcher = NULL;
  WRONG(fps_searcher_new(NULL, &searcher));
  WRONG(fps_searcher_new(snapshot, NULL));
  OK(fps_searcher_new(snapshot, &searcher));
  fps_snapshot_free(snapshot);
  OK(fps_searcher_search(searcher, stored, bytes, 0, matches, 3, &count));
  TRUE(count == 1);
  WRONG(fps_searcher_search(NULL, stored, bytes, 0, matches, 3, &count));
  WRONG(fps_searcher_search(searcher, NULL, bytes, 0, matches, 3, &count));
  WRONG(fps_searcher_search(searcher, stored, bytes * 2, 0, matches, 3, &count));
  WRONG(fps_searcher_search(searcher, stored, bytes, bits + 1, matches, 3, &count));
  WRONG(fps_searcher_search(searcher, stored, bytes, 0, NULL, 3, &count));
  WRONG(fps_searcher_search(searcher, stored, bytes, 0, matches, 3, NULL));
  OK(fps_searcher_nearest(searcher, stored, bytes, bits, matches, 2, &count));
  TRUE(count == 2);
  WRONG(fps_searcher_nearest(NULL, stored, bytes, bits, matches, 2, &count));
  WRONG(fps_searcher_nearest(searcher, stored, 7, bits, matches, 2, &count));
  WRONG(fps_searcher_nearest(searcher, stored, bytes, bits + 1, matches, 2, &count));
  OK(fps_searcher_any_within(searcher, stored, bytes, 0, &flag));
  TRUE(flag);
  WRONG(fps_searcher_any_within(NULL, stored, bytes, 0, &flag));
  WRONG(fps_searcher_any_within(searcher, stored, bytes, bits + 1, &flag));
  WRONG(fps_searcher_any_within(searcher, stored, bytes, 0, NULL));
  WRONG(fps_searcher_set_timeout(NULL, 1));
  OK(fps_searcher_set_timeout(searcher, UINT64_MAX));
  OK(fps_searcher_search(searcher, stored, bytes, 0, matches, 3, &count));
  OK(fps_searcher_set_timeout(searcher, 1));
  while (fps_searcher_search(searcher, stored, bytes, 0, matches, 3, &count) == FPS_OK) {
  }
  EXPECT(FPS_STOPPED, fps_searcher_search(searcher, stored, bytes, 0, matches, 3, &count));
  OK(fps_searcher_set_timeout(searcher, 0));
  OK(fps_searcher_search(searcher, stored, bytes, 0, matches, 3, &count));
  fps_searcher_free(searcher);
}

/* An id of a kind, which stands in `name`. */
static fps_id id_of(uint32_t kind, unsigned number, uint8_t name[16]) {
  fill(name, 16, number + 1);
  switch (kind) {
  case FPS_ID_NUMBER: return fps_id_number(number);
  case FPS_ID_TEXT:
    snprintf((char *)name, 16, "page-%u", number);
    return fps_id_text((char *)name);
  case FPS_ID_UUID: return fps_id_uuid(name);
  case FPS_ID_NUMBER128: return fps_id_number128(name);
  default: return fps_id_bytes(name, 5);
  }
}

enum { COUNT = 200 };

static void packs(uint32_t bits, uint32_t kind) {
  size_t bytes = bits / 8;
  uint8_t fingerprints[COUNT * 32], names[COUNT][16];
  fps_id ids[COUNT];
  memset(ids, 0, sizeof ids);
  fill(fingerprints, COUNT * bytes, bits + kind);
  for (unsigned i = 0; i < COUNT; i++)
    if (kind != FPS_ID_NONE) ids[i] = id_of(kind, i, names[i]);
  const fps_id *given = kind == FPS_ID_NONE ? NULL : ids;
  char name[64];
  snprintf(name, sizeof name, "packed-%u-%u", (unsigned)bits, (unsigned)kind);
  const char *path = path_of(name);

  fps_pack_options options = FPS_PACK_OPTIONS_INIT;
  options.bits = bits;
  options.threads = 1;
  fps_pack_summary summary = FPS_PACK_SUMMARY_INIT;
  fps_packer *packer = NULL;
  OK(fps_packer_start(path, &options, &packer));
  OK(fps_packer_add(packer, fingerprints, bytes, 100, given));
  OK(fps_packer_add(packer, NULL, bytes, 0, given));
  OK(fps_packer_add(packer, fingerprints + 100 * bytes, bytes, COUNT - 100,
                    given != NULL ? given + 100 : NULL));
  OK(fps_packer_finish(packer, &summary));
  TRUE(summary.read == COUNT && summary.distinct == COUNT);
  TRUE(summary.ids == (given != NULL ? COUNT : 0));
  WRONG(fps_packer_finish(packer, &summary));
  WRONG(fps_packer_add(packer, fingerprints, bytes, 1, given));
  fps_packer_free(packer);

  queries(path, fingerprints + 7 * bytes, bytes, given != NULL ? &ids[7] : NULL);

  EXPECT(FPS_ALREADY_EXISTS, fps_packer_start(path, &options, &packer));
  TRUE(packer == NULL);
  EXPECT(FPS_ALREADY_EXISTS, fps_pack(path, &options, fingerprints, bytes, COUNT, given, NULL));
  options.replace = 1;
  OK(fps_pack(path, &options, fingerprints, bytes, COUNT, given, NULL));
  WRONG(fps_pack(path, &options, fingerprints, bytes + 1, COUNT, given, NULL));
  WRONG(fps_pack(path, &options, NULL, bytes, COUNT, given, NULL));
  WRONG(fps_pack(path, &options, fingerprints, bytes, SIZE_MAX, given, NULL));
  WRONG(fps_pack(path, &options, fingerprints, bytes, COUNT, ODD(fps_id), NULL));
  WRONG(fps_pack(NULL, &options, fingerprints, bytes, COUNT, given, NULL));
  summary.size = 1;
  WRONG(fps_pack(path, &options, fingerprints, bytes, COUNT, given, &summary));

  /* A pack that is dropped, and one that has failed. */
  OK(fps_packer_start(path, &options, &packer));
  OK(fps_packer_add(packer, fingerprints, bytes, 5, given));
  fps_packer_free(packer);
  OK(fps_packer_start(path, &options, &packer));
  WRONG(fps_packer_add(packer, fingerprints, bytes - 1, 5, given));
  WRONG(fps_packer_add(packer, fingerprints, bytes, 5, given));
  WRONG(fps_packer_finish(packer, NULL));
  fps_packer_free(packer);
  OK(fps_packer_start(path, &options, &packer));
  WRONG(fps_packer_add(NULL, fingerprints, bytes, 5, given));
  WRONG(fps_packer_add(packer, NULL, bytes, 5, given));
  WRONG(fps_packer_finish(NULL, NULL));
  OK(fps_packer_add(packer, fingerprints, bytes, 5, given));
  if (given != NULL) {
    WRONG(fps_packer_add(packer, fingerprints, bytes, 5, NULL));
  } else {
    fps_id one = fps_id_number(1);
    WRONG(fps_packer_add(packer, fingerprints, bytes, 1, &one));
  }
  fps_packer_free(packer);
}

static void options_of_packs(void) {
  const char *path = path_of("never");
  fps_packer *packer = NULL;
  uint8_t fingerprints[8 * 8];
  fill(fingerprints, sizeof fingerprints, 3);
#define START(field, value)                                        \
  do {                                                             \
    fps_pack_options options = FPS_PACK_OPTIONS_INIT;              \
    options.field = value;                                         \
    WRONG(fps_packer_start(path, &options, &packer));              \
    TRUE(packer == NULL);                                          \
    WRONG(fps_pack(path, &options, fingerprints, 8, 8, NULL, NULL)); \
  } while (0)
  START(size, 0);
  START(size, 100000);
  START(bits, 0);
  START(bits, 65);
  START(radius, 65);
  START(design, "no design");
  START(design, "\xff");
  START(parts, 60000);
  START(block_bytes, 77);
  START(id_kind, 6);
  START(id_kind, FPS_ID_BYTES);
  START(threads, 5000);
  START(recipe, "a\nb");
  START(recipe, "\xff");
  START(scratch_directory, "");
  fps_pack_options options = FPS_PACK_OPTIONS_INIT;
  options.memory_bytes = 1;
  EXPECT(FPS_OUT_OF_RESOURCES, fps_packer_start(path, &options, &packer));
  options = (fps_pack_options)FPS_PACK_OPTIONS_INIT;
  options.append = 1;
  EXPECT(FPS_NOT_FOUND, fps_packer_start(path, &options, &packer));
  options.append = 0;
  options.scratch_directory = path;
  EXPECT(FPS_NOT_FOUND, fps_packer_start(path, &options, &packer));
  WRONG(fps_packer_start(path, NULL, NULL));
  WRONG(fps_packer_start(NULL, NULL, &packer));
  /* All of them at once. */
  options = (fps_pack_options)FPS_PACK_OPTIONS_INIT;
  options.design = "32,16,16";
  options.short_tables = 1;
  options.block_bytes = 512;
  options.id_kind = FPS_ID_NUMBER;
  options.threads = 1;
  options.memory_bytes = 1 << 26;
  options.scratch_directory = directory;
  options.recipe = "by hand";
  fps_id ids[8];
  for (unsigned i = 0; i < 8; i++) ids[i] = fps_id_number(i);
  OK(fps_pack(path, &options, fingerprints, 8, 8, ids, NULL));
  fps_store *store;
  fps_snapshot *snapshot;
  OK(fps_store_open(path, NULL, &store));
  OK(fps_store_snapshot(store, &snapshot));
  TRUE(strcmp(fps_snapshot_recipe(snapshot), "by hand") == 0);
  TRUE(fps_snapshot_recipe(snapshot) == fps_snapshot_recipe(snapshot));
  fps_snapshot_free(snapshot);
  fps_store_close(store);

  /* The defaults of the header are those of the library. */
  fps_stats stats[2] = {FPS_STATS_INIT, FPS_STATS_INIT};
  options = (fps_pack_options)FPS_PACK_OPTIONS_INIT;
  for (int i = 0; i < 2; i++) {
    path = path_of(i == 0 ? "default" : "given");
    OK(fps_pack(path, i == 0 ? NULL : &options, fingerprints, 8, 8, NULL, NULL));
    OK(fps_store_open(path, NULL, &store));
    OK(fps_store_snapshot(store, &snapshot));
    OK(fps_snapshot_stats(snapshot, &stats[i]));
    fps_snapshot_free(snapshot);
    fps_store_close(store);
  }
  TRUE(stats[0].bits == stats[1].bits && stats[0].radius == stats[1].radius);
  TRUE(memcmp(stats[0].store_id, stats[1].store_id, 16) == 0);
}

static void writers(uint32_t bits, uint32_t kind) {
  size_t bytes = bits / 8;
  uint8_t fingerprints[COUNT * 32], names[COUNT][16];
  fps_id ids[COUNT];
  memset(ids, 0, sizeof ids);
  fill(fingerprints, COUNT * bytes, bits + kind + 99);
  for (unsigned i = 0; i < COUNT; i++)
    if (kind != FPS_ID_NONE) ids[i] = id_of(kind, i, names[i]);
  const fps_id *given = kind == FPS_ID_NONE ? NULL : ids;
  char name[64];
  snprintf(name, sizeof name, "living-%u-%u", (unsigned)bits, (unsigned)kind);
  const char *path = path_of(name);

  fps_create_options create = FPS_CREATE_OPTIONS_INIT;
  create.bits = bits;
  create.id_kind = kind;
  create.id_bytes = kind == FPS_ID_BYTES ? 5 : 0;
  fps_writer_options options = FPS_WRITER_OPTIONS_INIT;
  options.durability = FPS_DURABILITY_EVENTUAL;
  options.tail_records = 64;
  fps_writer *writer = NULL, *other = NULL;
  OK(fps_create(path, &create, &options, &writer));
  EXPECT(FPS_ALREADY_EXISTS, fps_create(path, &create, &options, &other));
  EXPECT(FPS_BUSY, fps_writer_open(path, NULL, &other));
  TRUE(other == NULL);

  size_t count = 9;
  fps_match matches[2];
  const fps_id *second = given != NULL ? given + 1 : NULL;
  const fps_id *third = given != NULL ? given + 2 : NULL;
  OK(fps_writer_insert(writer, fingerprints, bytes, 1, given));
  OK(fps_writer_insert(writer, NULL, bytes, 0, given));
  WRONG(fps_writer_insert(NULL, fingerprints, bytes, 1, given));
  WRONG(fps_writer_insert(writer, NULL, bytes, 1, given));
  WRONG(fps_writer_insert(writer, fingerprints, bytes + 1, 1, given));
  WRONG(fps_writer_insert(writer, fingerprints, bytes, SIZE_MAX, given));
  WRONG(fps_writer_insert(writer, fingerprints, SIZE_MAX, 2, given));
  fps_id wrong = kind == FPS_ID_NUMBER ? fps_id_text("a") : fps_id_number(1);
  WRONG(fps_writer_insert(writer, fingerprints, bytes, 1, &wrong));
  if (given != NULL) WRONG(fps_writer_insert(writer, fingerprints, bytes, 1, NULL));
  if (kind == FPS_ID_BYTES) {
    wrong = fps_id_bytes(names[0], 6);
    WRONG(fps_writer_insert(writer, fingerprints, bytes, 1, &wrong));
  }

  OK(fps_writer_check_and_insert(writer, fingerprints, bytes, second, 0, matches, 2, &count));
  TRUE(count == 1 && matches[0].distance == 0);
  OK(fps_writer_check_and_insert(writer, fingerprints + bytes, bytes, second, 0, NULL, 0, &count));
  TRUE(count == 0);
  WRONG(fps_writer_check_and_insert(NULL, fingerprints, bytes, second, 0, matches, 2, &count));
  WRONG(fps_writer_check_and_insert(writer, NULL, bytes, second, 0, matches, 2, &count));
  WRONG(fps_writer_check_and_insert(writer, fingerprints, 1, second, 0, matches, 2, &count));
  WRONG(fps_writer_check_and_insert(writer, fingerprints, bytes, &wrong, 0, matches, 2, &count));
  WRONG(fps_writer_check_and_insert(writer, fingerprints, bytes, second, bits + 1, matches, 2,
                                    &count));
  WRONG(fps_writer_check_and_insert(writer, fingerprints, bytes, second, 0, NULL, 2, &count));
  WRONG(fps_writer_check_and_insert(writer, fingerprints, bytes, second, 0, matches, 2, NULL));

  fps_snapshot *before = NULL, *after = NULL;
  OK(fps_writer_snapshot(writer, &before));
  WRONG(fps_writer_snapshot(NULL, &after));
  WRONG(fps_writer_snapshot(writer, NULL));
  OK(fps_writer_insert(writer, fingerprints + 2 * bytes, bytes, COUNT - 2, third));
  OK(fps_writer_flush(writer));
  WRONG(fps_writer_flush(NULL));
  OK(fps_writer_delete(writer, fingerprints, bytes, 2, given));
  OK(fps_writer_delete(writer, fingerprints + 2 * bytes, bytes, 2, NULL));
  WRONG(fps_writer_delete(NULL, fingerprints, bytes, 1, given));
  WRONG(fps_writer_delete(writer, NULL, bytes, 1, given));
  WRONG(fps_writer_delete(writer, fingerprints, bytes - 1, 1, given));
  WRONG(fps_writer_delete(writer, fingerprints, bytes, 1, &wrong));
  uint64_t distinct = 0;
  OK(fps_snapshot_count(before, &distinct));
  TRUE(distinct == 2);
  if (given != NULL) {
    OK(fps_writer_delete_id(writer, &ids[4], &count));
    TRUE(count == 1);
    OK(fps_writer_delete_id(writer, &ids[4], NULL));
    WRONG(fps_writer_delete_id(writer, &wrong, &count));
  } else {
    OK(fps_writer_delete(writer, fingerprints + 4 * bytes, bytes, 1, NULL));
  }
  WRONG(fps_writer_delete_id(NULL, &ids[4], &count));
  WRONG(fps_writer_delete_id(writer, NULL, &count));
  OK(fps_writer_commit(writer, FPS_DURABILITY_GROUP));
  OK(fps_writer_commit(writer, FPS_DURABILITY_IMMEDIATE));
  OK(fps_writer_commit(writer, FPS_DURABILITY_EVENTUAL));
  WRONG(fps_writer_commit(writer, 3));
  WRONG(fps_writer_commit(NULL, FPS_DURABILITY_GROUP));
  OK(fps_writer_merge(writer, 0));
  OK(fps_writer_merge(writer, 1));
  WRONG(fps_writer_merge(NULL, 0));
  OK(fps_writer_snapshot(writer, &after));
  OK(fps_snapshot_count(after, &distinct));
  TRUE(distinct == COUNT - 5);
  OK(fps_writer_close(writer));
  OK(fps_writer_close(writer));
  WRONG(fps_writer_close(NULL));
  WRONG(fps_writer_insert(writer, fingerprints, bytes, 1, given));
  WRONG(fps_writer_check_and_insert(writer, fingerprints, bytes, second, 0, matches, 2, &count));
  WRONG(fps_writer_delete(writer, fingerprints, bytes, 1, given));
  WRONG(fps_writer_commit(writer, FPS_DURABILITY_GROUP));
  WRONG(fps_writer_flush(writer));
  WRONG(fps_writer_merge(writer, 1));
  fps_snapshot *none = NULL;
  WRONG(fps_writer_snapshot(writer, &none));
  fps_writer_free(writer);
  /* Snapshots outlive the writer. */
  OK(fps_snapshot_count(after, &distinct));
  TRUE(distinct == COUNT - 5);
  fps_snapshot_free(before);
  fps_snapshot_free(after);

  queries(path, fingerprints + 7 * bytes, bytes, given != NULL ? &ids[7] : NULL);
  OK(fps_writer_open(path, &options, &writer));
  OK(fps_writer_insert(writer, fingerprints, bytes, 1, given));
  /* Without an end of its own. */
  fps_writer_free(writer);
}

static void options_of_writers(void) {
  const char *path = path_of("never-living");
  fps_writer *writer = NULL;
#define CREATE(field, value)                                \
  do {                                                      \
    fps_create_options options = FPS_CREATE_OPTIONS_INIT;   \
    options.field = value;                                  \
    WRONG(fps_create(path, &options, NULL, &writer));       \
    TRUE(writer == NULL);                                   \
  } while (0)
  CREATE(size, 1);
  CREATE(bits, 63);
  CREATE(radius, 65);
  CREATE(id_kind, 6);
  CREATE(id_kind, FPS_ID_BYTES);
  CREATE(design, "?");
  CREATE(parts, 60000);
  CREATE(recipe, "\xff");
#define OPEN(field, value)                                  \
  do {                                                      \
    fps_writer_options options = FPS_WRITER_OPTIONS_INIT;   \
    options.field = value;                                  \
    WRONG(fps_create(path, NULL, &options, &writer));       \
    WRONG(fps_writer_open(path_of("default"), &options, &writer)); \
  } while (0)
  OPEN(size, 1);
  OPEN(durability, 3);
  OPEN(tail_records, (1 << 24) + 1);
  WRONG(fps_create(NULL, NULL, NULL, &writer));
  WRONG(fps_create(path, NULL, NULL, NULL));
  WRONG(fps_writer_open(NULL, NULL, &writer));
  WRONG(fps_writer_open(path, NULL, NULL));
  EXPECT(FPS_NOT_FOUND, fps_writer_open(path, NULL, &writer));
  fps_create_options create = FPS_CREATE_OPTIONS_INIT;
  create.design = "halves";
  create.short_tables = 1;
  create.recipe = "by hand";
  fps_writer_options options = FPS_WRITER_OPTIONS_INIT;
  options.no_background = 1;
  options.durability = FPS_DURABILITY_IMMEDIATE;
  OK(fps_create(path, &create, &options, &writer));
  OK(fps_writer_close(writer));
  fps_writer_free(writer);
}

/* A file of a store that was cut short. */
static void damaged(void) {
  const char *path = path_of("given");
  char file[4200];
  snprintf(file, sizeof file, "%s/manifest.fps", path);
  FILE *manifest = fopen(file, "r+b");
  TRUE(manifest != NULL);
  TRUE(fputs("damaged", manifest) >= 0 && fclose(manifest) == 0);
  fps_store *store = NULL;
  fps_writer *writer = NULL;
  EXPECT(FPS_CORRUPT, fps_store_open(path, NULL, &store));
  EXPECT(FPS_CORRUPT, fps_writer_open(path, NULL, &writer));
  TRUE(store == NULL && writer == NULL);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  /* One width with one kind of ids, where it takes long. */
  int few = argc > 2;
  directory = argv[1];
  versions();
  for (uint32_t bits = 32; bits <= 256; bits *= 2)
    for (uint32_t kind = FPS_ID_NONE; kind <= FPS_ID_BYTES; kind++) {
      uint32_t one = bits == 32 ? FPS_ID_NONE : bits == 128 ? FPS_ID_TEXT : FPS_ID_UUID;
      if (few ? bits != 64 || kind != FPS_ID_TEXT : bits != 64 && kind != one) continue;
      packs(bits, kind);
      writers(bits, kind);
    }
  options_of_packs();
  options_of_writers();
  damaged();
#ifdef LEAK
  fps_store *leaked;
  OK(fps_store_open(path_of("default"), NULL, &leaked));
  leaked = NULL;
#endif
  printf("%d calls\n", calls);
  return 0;
}
