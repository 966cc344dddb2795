/*
 * Starts process after process, each of which sends one datagram to PORT of loopback
 * and ends, and prints how many there were in SECONDS.
 *
 *   churn PORT SECONDS
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long clock_ns(struct timespec *now)
{
	clock_gettime(CLOCK_MONOTONIC, now);
	return now->tv_sec * 1000000000LL + now->tv_nsec;
}

int main(int argc, char **argv)
{
	static char message[512];
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	unsigned long made = 0;
	int sink = socket(AF_INET, SOCK_DGRAM, 0);
	struct timespec now;
	long long end;

	if (argc != 3)
		return 2;
	address.sin_port = htons(atoi(argv[1]));
	if (sink < 0 || connect(sink, (struct sockaddr *)&address, sizeof address)) {
		perror("connect");
		return 1;
	}
	end = clock_ns(&now) + atoi(argv[2]) * 1000000000LL;
	while (clock_ns(&now) < end) {
		pid_t child = fork();

		if (child == 0) {
			send(sink, message, sizeof message, 0);
			_exit(0);
		}
		/* Without room for one more process it tries again. */
		if (child < 0 && errno == EAGAIN)
			continue;
		if (child < 0 || waitpid(child, NULL, 0) != child) {
			perror("fork");
			return 1;
		}
		made++;
	}
	printf("%lu\n", made);
	return 0;
}
