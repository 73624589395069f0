// Packs fingerprints, searches them, and writes a store of names, through the header of C.
//
//	go run . /tmp/pages
//
// with libfpstore installed where pkg-config and the loader find it.
package main

// #cgo pkg-config: fpstore
// #include <fpstore.h>
// #include <stdlib.h>
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"
)

const width = 8

// call runs a function of the library, and gives its error. A goroutine may change threads between
// two calls, and the message of an error is that of a thread.
func call(function func() C.fps_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if status := function(); status != C.FPS_OK {
		return errors.New(C.GoString(C.fps_last_error()))
	}
	return nil
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func hash(page uint64) uint64 { return page * 0x9E3779B97F4A7C15 }

// bytesOf gives the bytes of fingerprints, the most significant first.
func bytesOf(fingerprints ...uint64) []byte {
	var all []byte
	for _, fingerprint := range fingerprints {
		all = binary.BigEndian.AppendUint64(all, fingerprint)
	}
	return all
}

func pointer(all []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.Pointer(&all[0])) }

func fingerprint(match C.fps_match) uint64 {
	return binary.BigEndian.Uint64(C.GoBytes(unsafe.Pointer(&match.fingerprint[0]), width))
}

func packed(directory string) {
	path := C.CString(filepath.Join(directory, "packed.fps"))
	defer C.free(unsafe.Pointer(path))
	var hashes []uint64
	for page := uint64(0); page < 20000; page++ {
		hashes = append(hashes, hash(page))
	}
	all := bytesOf(hashes...)
	summary := C.fps_pack_summary{size: C.sizeof_fps_pack_summary}
	must(call(func() C.fps_status {
		count := C.size_t(len(hashes))
		return C.fps_pack(path, nil, pointer(all), width, count, nil, &summary)
	}))
	fmt.Println("packed", summary.distinct, "fingerprints")

	var store *C.fps_store
	var snapshot *C.fps_snapshot
	must(call(func() C.fps_status { return C.fps_store_open(path, nil, &store) }))
	defer C.fps_store_close(store)
	must(call(func() C.fps_status { return C.fps_store_snapshot(store, &snapshot) }))
	defer C.fps_snapshot_free(snapshot)

	var matches [16]C.fps_match
	var count C.size_t
	query := bytesOf(hash(7) ^ 5)
	must(call(func() C.fps_status {
		return C.fps_snapshot_search(snapshot, pointer(query), width, 3, &matches[0], 16, &count)
	}))
	for _, match := range matches[:count] {
		fmt.Printf("%016x at distance %d\n", fingerprint(match), match.distance)
	}
	// A wrong width is an error.
	err := call(func() C.fps_status {
		return C.fps_snapshot_search(snapshot, pointer(query), 4, 3, &matches[0], 16, &count)
	})
	fmt.Println("error:", err)
}

func living(directory string) {
	path := C.CString(filepath.Join(directory, "living.fps"))
	defer C.free(unsafe.Pointer(path))
	options := C.fps_create_options{
		size: C.sizeof_fps_create_options, bits: 64, radius: 3, id_kind: C.FPS_ID_TEXT,
	}
	var writer *C.fps_writer
	must(call(func() C.fps_status { return C.fps_create(path, &options, nil, &writer) }))
	defer C.fps_writer_free(writer)

	for i, url := range []string{"https://a.example/", "https://a.example/print"} {
		name := C.CString(url)
		id := C.fps_id_text(name)
		one := bytesOf(hash(1) ^ uint64(i))
		var near [4]C.fps_match
		var count C.size_t
		must(call(func() C.fps_status {
			return C.fps_writer_check_and_insert(
				writer, pointer(one), width, &id, 3, &near[0], 4, &count)
		}))
		C.free(unsafe.Pointer(name))
		fmt.Printf("%s: %d are near\n", url, count)
	}

	var snapshot *C.fps_snapshot
	var ids *C.fps_ids
	var id C.fps_id
	stored := bytesOf(hash(1))
	must(call(func() C.fps_status { return C.fps_writer_snapshot(writer, &snapshot) }))
	defer C.fps_snapshot_free(snapshot)
	must(call(func() C.fps_status {
		return C.fps_snapshot_ids(snapshot, pointer(stored), width, &ids)
	}))
	defer C.fps_ids_free(ids)
	for C.fps_ids_next(ids, &id) == C.FPS_OK {
		fmt.Println(C.GoStringN((*C.char)(unsafe.Pointer(id.bytes)), C.int(id.length)))
	}
	must(call(func() C.fps_status { return C.fps_writer_close(writer) }))
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("give a directory")
	}
	packed(os.Args[1])
	living(os.Args[1])
}
