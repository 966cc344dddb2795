// An external endpoint in Go: the contract is docs/endpoint.md.
// Build: go build -o endpoint endpoint.go
package main

import (
	"bufio"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

var input = bufio.NewReader(os.Stdin)

func hear(word string) string {
	rest, found := strings.CutPrefix(must(input.ReadString('\n')), word)
	if !found {
		log.Fatalf("expected %s, got %s", word, rest)
	}
	return strings.TrimSpace(rest)
}

func main() {
	sends, proto := os.Getenv("NT_ROLE") == "send", os.Getenv("NT_PROTO")
	name := map[bool]string{true: "NT_SIZE", false: "NT_READ"}[sends]
	buffer := make([]byte, must(strconv.Atoi(os.Getenv(name))))
	file := must(os.OpenFile(os.Getenv("NT_PAGE"), os.O_RDWR, 0))
	page := must(syscall.Mmap(int(file.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED))
	stage := (*uint32)(unsafe.Pointer(&page[0]))
	count := func(at int) *uint64 { return (*uint64)(unsafe.Pointer(&page[at])) }
	var conn net.Conn
	switch here := os.Getenv("NT_BIND"); {
	case proto == "tcp" && !sends:
		listener := must(net.Listen("tcp", here))
		fmt.Println("ready", listener.Addr().(*net.TCPAddr).Port)
		hear("connect")
		conn = must(listener.Accept())
	case proto == "tcp":
		fmt.Println("ready -") // Who connects has no port to tell.
		conn = must((&net.Dialer{LocalAddr: must(net.ResolveTCPAddr("tcp", here))}).Dial("tcp", hear("connect")))
		conn.(*net.TCPConn).SetNoDelay(os.Getenv("NT_NODELAY") == "1")
	default:
		bound := must(net.ListenUDP("udp", must(net.ResolveUDPAddr("udp", here))))
		own := bound.LocalAddr().(*net.UDPAddr)
		fmt.Println("ready", own.Port)
		peer := must(net.ResolveUDPAddr("udp", hear("connect")))
		bound.Close() // Go cannot connect a socket that is bound.
		conn = must(net.DialUDP("udp", own, peer))
	}
	fmt.Println("connected")
	hear("go")
	var messages, bytes uint64
	for !sends || atomic.LoadUint32(stage)&0xff != 3 {
		var moved int
		if sends {
			moved = must(conn.Write(buffer))
		} else if got, err := conn.Read(buffer); err != nil {
			return
		} else {
			moved = got
		}
		messages, bytes = messages+1, bytes+uint64(moved)
		atomic.StoreUint64(count(64), messages)
		atomic.StoreUint64(count(72), bytes)
	}
	fmt.Println("done")
	hear("stop")
}
