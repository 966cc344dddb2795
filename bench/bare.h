/*
 * What the bare loops share: namespace, CPU, the parts of a trial, clocks. Each prints one line:
 *   messages bytes cpu_ns wall_ns voluntary_switches
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t part;

static void next_part(int signal) { (void)signal; part++; }

static void die(const char *what) { perror(what); exit(1); }

static long long now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

struct edge { long long cpu, wall, switches; };

static struct edge edge(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (struct edge){ now(CLOCK_PROCESS_CPUTIME_ID), now(CLOCK_MONOTONIC), usage.ru_nvcsw };
}

static void print(long long messages, long long bytes, struct edge from, struct edge to)
{
	printf("%lld %lld %lld %lld %lld\n", messages, bytes, to.cpu - from.cpu, to.wall - from.wall, to.switches - from.switches);
	fflush(stdout);
}

static void enter_namespace(const char *pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("setns");
	close(fd);
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		die("sched_setaffinity");
}

static void arm(long warmup_ms, long length_ms)
{
	struct sigaction action = { .sa_handler = next_part };
	sigaction(SIGALRM, &action, NULL);
	struct itimerval timer = {
		.it_value = { warmup_ms / 1000, warmup_ms % 1000 * 1000 },
		.it_interval = { length_ms / 1000, length_ms % 1000 * 1000 },
	};
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void limit_blocking(int fd)
{
	struct timeval limit = { 0, 50000 };
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

