/*
 * Packs fingerprints and searches them; then a store of names that is written while it is searched.
 *
 *   cc pages.c -o pages $(pkg-config --cflags --libs fpstore) && ./pages /tmp/pages
 */
#include <fpstore.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 8, COUNT = 20000 };

/* Ends the program where a call has failed. */
static void check(fps_status status) {
  if (status != FPS_OK) {
    fprintf(stderr, "%s: %s\n", fps_status_name(status), fps_last_error());
    exit(1);
  }
}

/* The bytes of a number, the most significant first: as its hexadecimal digits are written. */
static const uint8_t *bytes_of(uint64_t number, uint8_t bytes[BYTES]) {
  for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)(number >> (8 * (BYTES - 1 - i)));
  return bytes;
}

static uint64_t number_of(const fps_match *match) {
  uint64_t number = 0;
  for (int i = 0; i < BYTES; i++) number = number << 8 | match->fingerprint[i];
  return number;
}

static uint64_t hash_of(uint64_t page) { return page * UINT64_C(0x9E3779B97F4A7C15); }

static void print_matches(const char *title, const fps_match *matches, size_t count) {
  printf("%s: %zu\n", title, count);
  for (size_t i = 0; i < count; i++)
    printf("  %016" PRIx64 " at distance %" PRIu32 "\n", number_of(&matches[i]),
           matches[i].distance);
}

/* A set that does not change, with numbers as ids. */
static void packed(const char *path) {
  uint8_t *hashes = malloc((size_t)COUNT * BYTES);
  fps_id *ids = malloc(COUNT * sizeof *ids);
  if (hashes == NULL || ids == NULL) exit(1);
  for (uint64_t page = 0; page < COUNT; page++) {
    bytes_of(hash_of(page), hashes + page * BYTES);
    ids[page] = fps_id_number(page);
  }
  fps_pack_options options = FPS_PACK_OPTIONS_INIT;
  options.design = "quarters";
  options.replace = 1;
  fps_pack_summary summary = FPS_PACK_SUMMARY_INIT;
  check(fps_pack(path, &options, hashes, BYTES, COUNT, ids, &summary));
  printf("packed %" PRIu64 " fingerprints in %" PRIu64 " bytes each\n", summary.distinct,
         summary.bytes / summary.distinct);
  free(hashes);
  free(ids);

  fps_store *store;
  fps_snapshot *snapshot;
  fps_searcher *searcher;
  check(fps_store_open(path, NULL, &store));
  check(fps_store_snapshot(store, &snapshot));
  check(fps_searcher_new(snapshot, &searcher));

  uint8_t query[BYTES];
  bytes_of(hash_of(7) ^ 5, query);
  fps_match matches[4];
  size_t count;
  check(fps_searcher_search(searcher, query, BYTES, 3, matches, 4, &count));
  print_matches("within 3 bits", matches, count);
  check(fps_searcher_nearest(searcher, query, BYTES, 64, matches, 2, &count));
  print_matches("the two nearest", matches, count);

  fps_ids *found;
  fps_id id;
  check(fps_snapshot_ids(snapshot, matches[0].fingerprint, BYTES, &found));
  while (fps_ids_next(found, &id) == FPS_OK) printf("  page %" PRIu64 "\n", id.number);
  fps_ids_free(found);

  fps_searcher_free(searcher);
  fps_snapshot_free(snapshot);
  fps_store_close(store);
}

/* A store that is written, with names as ids. */
static void living(const char *path) {
  fps_create_options options = FPS_CREATE_OPTIONS_INIT;
  options.id_kind = FPS_ID_TEXT;
  fps_writer *writer;
  check(fps_create(path, &options, NULL, &writer));

  uint8_t hash[BYTES];
  fps_id url = fps_id_text("https://a.example/");
  check(fps_writer_insert(writer, bytes_of(hash_of(1), hash), BYTES, 1, &url));
  fps_snapshot *before;
  check(fps_writer_snapshot(writer, &before));

  fps_match near[4];
  size_t count;
  url = fps_id_text("https://a.example/print");
  bytes_of(hash_of(1) ^ 1, hash);
  check(fps_writer_check_and_insert(writer, hash, BYTES, &url, 3, near, 4, &count));
  print_matches("near the second page", near, count);
  url = fps_id_text("https://b.example/");
  bytes_of(hash_of(2), hash);
  check(fps_writer_check_and_insert(writer, hash, BYTES, &url, 3, near, 4, &count));
  printf("the third page is %s\n", count == 0 ? "new" : "known");
  check(fps_writer_commit(writer, FPS_DURABILITY_IMMEDIATE));

  /* Readers of this or another process see what was committed; a snapshot stays as it was. */
  fps_store *store;
  fps_snapshot *now;
  uint64_t counts[2];
  check(fps_store_open(path, NULL, &store));
  check(fps_store_snapshot(store, &now));
  check(fps_snapshot_count(before, &counts[0]));
  check(fps_snapshot_count(now, &counts[1]));
  printf("%" PRIu64 " page before, %" PRIu64 " now\n", counts[0], counts[1]);
  fps_ids *ids;
  fps_id id;
  check(fps_snapshot_ids(now, hash, BYTES, &ids));
  while (fps_ids_next(ids, &id) == FPS_OK)
    printf("  %.*s\n", (int)id.length, (const char *)id.bytes);
  fps_ids_free(ids);

  fps_snapshot_free(now);
  fps_snapshot_free(before);
  fps_store_close(store);
  check(fps_writer_close(writer));
  fps_writer_free(writer);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/packed.fps", argv[1]);
  packed(path);
  snprintf(path, sizeof path, "%s/living.fps", argv[1]);
  living(path);
  return 0;
}
