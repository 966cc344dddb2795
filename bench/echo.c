/*
 * A server that nettoll is attached to: answers SIZE bytes with SIZE bytes on one
 * connection after another, and counts its answers at the start of a mapped file.
 *
 *   echo FILE SIZE PORT
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	int file = open(argv[1], O_RDWR | O_CREAT, 0600), on = 1;
	if (file < 0 || ftruncate(file, 4096))
		die(argv[1]);
	volatile uint64_t *answers = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	size_t size = strtoul(argv[2], NULL, 10);
	char *room = malloc(size);
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[3])), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (answers == MAP_FAILED || !room || bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, 8))
		die("listen");
	for (int connection; (connection = accept(listener, NULL, NULL)) >= 0; close(connection)) {
		setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		while (recv(connection, room, size, 0) == (ssize_t)size && send(connection, room, size, MSG_NOSIGNAL) == (ssize_t)size)
			++*answers;
	}
	die("accept");
}
