/*
 * The bare loop: the system calls of a stream trial with nothing around them,
 * as one would write them by hand. What nettoll adds is measured against it.
 *
 *   bare ppid COUNT
 *   bare send|recv udp|tcp NETNS_PID CPU ADDRESS PORT SIZE WARMUP_MS LENGTH_MS
 *
 * The receiver binds to ADDRESS:PORT (0: the kernel chooses) and prints the
 * port; the sender connects to it. Both take the socket options that nettoll
 * takes, and end by an alarm. Each prints one line:
 *   messages bytes cpu_ns wall_ns voluntary_switches
 */
#include "bare.h"

static void send_loop(int fd, char *message, long size)
{
	long long messages = 0;
	while (part == 0)
		send(fd, message, size, MSG_NOSIGNAL);
	struct edge from = edge();
	while (part == 1)
		messages += send(fd, message, size, MSG_NOSIGNAL) == size;
	struct edge to = edge();
	print(messages, messages * size, from, to);
}

static void receive_loop(int fd, char *room, long size, int stream, long message_size)
{
	long long calls = 0, bytes = 0;
	while (part == 0)
		if (recv(fd, room, size, 0) == 0)
			break;
	struct edge from = edge();
	while (part == 1) {
		ssize_t moved = recv(fd, room, size, 0);
		if (moved > 0) {
			calls++;
			bytes += moved;
		} else if (moved == 0) {
			break;
		}
	}
	struct edge to = edge();
	print(stream ? bytes / message_size : calls, bytes, from, to);
	/* What is still on its way must not meet a closed port. */
	while (recv(fd, room, size, 0) > 0)
		;
}

static void ppid_loop(long long count)
{
	long long messages = 0;
	struct edge from = edge();
	for (long long i = 0; i < count; i++)
		messages += getppid() > 0;
	struct edge to = edge();
	print(messages, 0, from, to);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "ppid")) {
		ppid_loop(atoll(argv[2]));
		return 0;
	}
	if (argc != 10) {
		fprintf(stderr, "see the top of bare.c\n");
		return 2;
	}
	int sends = !strcmp(argv[1], "send"), stream = !strcmp(argv[2], "tcp"), one = 1;
	long size = atol(argv[7]), room_size = sends || !stream ? size : 128 << 10;
	enter_namespace(argv[3]);
	pin(atoi(argv[4]));
	/* On a page, as nettoll's is. */
	char *room = aligned_alloc(4096, (room_size + 4095) / 4096 * 4096);
	memset(room, 1, room_size);
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(atoi(argv[6])) };
	inet_pton(AF_INET, argv[5], &address.sin_addr);
	int fd = socket(AF_INET, stream ? SOCK_STREAM : SOCK_DGRAM, 0);
	if (stream)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (sends) {
		if (connect(fd, (struct sockaddr *)&address, sizeof address))
			die("connect");
		limit_blocking(fd);
		arm(atol(argv[8]), atol(argv[9]));
		send_loop(fd, room, size);
		return 0;
	}
	socklen_t length = sizeof address;
	if (bind(fd, (struct sockaddr *)&address, length) || (stream && listen(fd, 1)))
		die("bind");
	getsockname(fd, (struct sockaddr *)&address, &length);
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	if (stream) {
		fd = accept(fd, NULL, NULL);
	} else {
		/* Connected, as nettoll's is; the first datagram says to whom. */
		recvfrom(fd, room, size, 0, (struct sockaddr *)&address, &length);
		connect(fd, (struct sockaddr *)&address, length);
	}
	limit_blocking(fd);
	arm(atol(argv[8]), atol(argv[9]));
	receive_loop(fd, room, room_size, stream, size);
	return 0;
}
