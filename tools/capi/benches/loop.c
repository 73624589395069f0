/* Searches from C, as a program does; `benches/calls.rs` measures it. */
#include <fpstore.h>

void *open_searcher(const char *path, int64_t memory_bytes) {
  fps_store *store = NULL;
  fps_snapshot *snapshot = NULL;
  fps_searcher *searcher = NULL;
  fps_open_options options = FPS_OPEN_OPTIONS_INIT;
  options.memory_bytes = memory_bytes;
  if (fps_store_open(path, &options, &store) == FPS_OK &&
      fps_store_snapshot(store, &snapshot) == FPS_OK)
    fps_searcher_new(snapshot, &searcher);
  fps_snapshot_free(snapshot);
  fps_store_close(store);
  return searcher;
}

/* The sum of the numbers and distances of what is found; UINT64_MAX after a failure. */
uint64_t search_all(void *searcher, const uint8_t *queries, size_t count, uint32_t k) {
  fps_match matches[16];
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    size_t found;
    if (fps_searcher_search(searcher, queries + 8 * i, 8, k, matches, 16, &found) != FPS_OK)
      return UINT64_MAX;
    sum += found << 32;
    for (size_t j = 0; j < found && j < 16; j++) sum += matches[j].distance;
  }
  return sum;
}

void close_searcher(void *searcher) { fps_searcher_free(searcher); }
