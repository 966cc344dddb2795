/* An external endpoint in C: sends or receives over UDP or TCP with send and recv.
 * Build: cc -O2 -o endpoint endpoint.c. The contract is docs/endpoint.md. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void die(const char *what) { perror(what); exit(1); }

/* Splits 192.0.2.1:80 or [2001:db8::1]:80 into an address. */
static struct sockaddr_storage address(char *text, socklen_t *length) {
    struct sockaddr_storage found;
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *all;
    char *port = strrchr(text, ':'), *host = text[0] == '[' ? text + 1 : text;
    port[port[-1] == ']' ? -1 : 0] = 0;
    if (getaddrinfo(host, port + 1, &hints, &all)) die("getaddrinfo");
    memcpy(&found, all->ai_addr, *length = all->ai_addrlen);
    return found;
}

int main(void) {
    int send_role = !strcmp(getenv("NT_ROLE"), "send"), tcp = !strcmp(getenv("NT_PROTO"), "tcp");
    size_t size = strtoul(getenv(send_role ? "NT_SIZE" : "NT_READ"), 0, 10);
    char line[256], *message = calloc(1, size), *nodelay = getenv("NT_NODELAY"), *cc = getenv("NT_CC");
    int file = open(getenv("NT_PAGE"), O_RDWR), on = nodelay && atoi(nodelay);
    volatile uint8_t *stage = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (stage == MAP_FAILED || !message) die("NT_PAGE");
    volatile uint64_t *count = (volatile uint64_t *)(stage + 64);
    socklen_t length;
    struct sockaddr_storage here = address(strdup(getenv("NT_BIND")), &length);
    int sock = socket(here.ss_family, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
    if (sock < 0 || bind(sock, (struct sockaddr *)&here, length)) die("bind");
    if (tcp) setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (tcp && cc && setsockopt(sock, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc))) die("NT_CC");
    if (tcp && !send_role && listen(sock, 1)) die("listen");
    getsockname(sock, (struct sockaddr *)&here, &length);
    printf("ready %d\n", ntohs(((struct sockaddr_in *)&here)->sin_port));
    fflush(stdout);

    if (!fgets(line, sizeof line, stdin) || strncmp(line, "connect ", 8)) return 1;
    line[strcspn(line, "\n")] = 0;
    struct sockaddr_storage peer = address(line + 8, &length);
    if (tcp && !send_role) sock = accept(sock, 0, 0);
    else if (connect(sock, (struct sockaddr *)&peer, length)) die("connect");
    printf("connected\n");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin) || strncmp(line, "go", 2)) return 1;

    uint64_t messages = 0, bytes = 0;
    if (!send_role) {
        for (ssize_t got; (got = recv(sock, message, size, 0)) > 0 || (got == 0 && !tcp);) {
            count[0] = ++messages;
            count[1] = bytes += got;
        }
        return 0; /* The stream has ended; of datagrams the harness ends the program. */
    }
    while (*stage != 3) {
        ssize_t sent = send(sock, message, size, MSG_NOSIGNAL);
        for (size_t so_far = sent; tcp && sent > 0 && so_far < size; so_far += sent)
            if ((sent = send(sock, message, size - so_far, MSG_NOSIGNAL)) < 0) break;
        if (sent < 0) die("send");
        count[0] = ++messages;
        count[1] = bytes += size;
    }
    printf("done\n");
    fflush(stdout);
    return !fgets(line, sizeof line, stdin); /* stop */
}
