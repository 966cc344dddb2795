/*
 * The bare loop of ways that hand over many datagrams with one call, as one would write them by
 * hand, io_uring through liburing and AF_XDP through libxdp.
 *
 *   ways send|recv WAY NETNS_PID CPU ADDRESS PORT SIZE BATCH WARMUP_MS LENGTH_MS
 *   ways list
 *
 * WAY is sendmmsg, gso, uring (WITH_URING) or xdp (WITH_XDP); `list` prints those that it was
 * compiled with. Ports, parts and the line printed are those of bare.c. What is received by the
 * way of receiving that goes with each in nettoll: recvmmsg, recvmsg with UDP_GRO, a multishot
 * receive with a ring of buffers, recv.
 */
#include "bare.h"
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#ifdef WITH_URING
#include <liburing.h>
#endif
#ifdef WITH_XDP
#include <linux/if_ether.h>
#include <linux/if_xdp.h>
#include <xdp/xsk.h>
#endif

#define MOST 1024
#define ROOM (1 << 16)

static int fd;
static char *memory;
static long size, batch;

struct counts { long long messages, bytes; };

/* A call of a way: what it moved, nothing where it failed or waited in vain. */
typedef struct counts call(void);

static char *pages(size_t length)
{
	char *start = aligned_alloc(4096, (length + 4095) / 4096 * 4096);
	if (!start)
		die("aligned_alloc");
	memset(start, 1, length);
	return start;
}

static struct mmsghdr headers[MOST];
static struct iovec pieces[MOST];

static void lay_out(size_t stride)
{
	for (long place = 0; place < batch; place++) {
		pieces[place] = (struct iovec){ memory + place * stride, size };
		headers[place].msg_hdr = (struct msghdr){ .msg_iov = pieces + place, .msg_iovlen = 1 };
	}
}

static struct counts send_many(void)
{
	int sent = sendmmsg(fd, headers, batch, MSG_NOSIGNAL);
	return sent > 0 ? (struct counts){ sent, sent * size } : (struct counts){ 0, 0 };
}

static struct counts receive_many(void)
{
	struct counts came = { 0, 0 };
	int fetched = recvmmsg(fd, headers, batch, MSG_WAITFORONE, NULL);
	for (int place = 0; place < fetched; place++) {
		came.messages++;
		came.bytes += headers[place].msg_len;
	}
	return came;
}

static struct counts send_packet(void)
{
	ssize_t sent = send(fd, memory, size * batch, MSG_NOSIGNAL);
	return sent > 0 ? (struct counts){ sent / size, sent } : (struct counts){ 0, 0 };
}

static struct counts receive_packet(void)
{
	char control[64] __attribute__((aligned(8)));
	struct iovec piece = { memory, ROOM };
	struct msghdr header = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	ssize_t came = recvmsg(fd, &header, 0);
	if (came <= 0)
		return (struct counts){ 0, 0 };
	struct cmsghdr *first = CMSG_FIRSTHDR(&header);
	int each = came;
	if (first && first->cmsg_level == SOL_UDP && first->cmsg_type == UDP_GRO)
		memcpy(&each, CMSG_DATA(first), sizeof each);
	return (struct counts){ (came + each - 1) / each, came };
}

static struct counts receive_one(void)
{
	ssize_t came = recv(fd, memory, size, 0);
	return came > 0 ? (struct counts){ 1, came } : (struct counts){ 0, 0 };
}

#ifdef WITH_URING
#define BUFFERS 1024

static struct io_uring ring;
static struct io_uring_buf_ring *buffers;
static size_t stride;
static struct __kernel_timespec patience = { 0, 50000000 };
static int armed;

static void open_ring(unsigned entries)
{
	int answer = io_uring_queue_init(entries, &ring, 0);
	if (answer) {
		errno = -answer;
		die("io_uring_queue_init");
	}
}

static struct counts send_ring(void)
{
	struct counts went = { 0, 0 };
	struct io_uring_cqe *answer;
	for (long place = 0; place < batch; place++) {
		struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
		io_uring_prep_send(entry, fd, memory, size, MSG_NOSIGNAL);
		io_uring_sqe_set_data64(entry, place);
	}
	for (long missing = batch; missing > 0;) {
		unsigned head, taken = 0;
		io_uring_submit_and_wait_timeout(&ring, &answer, missing, &patience, NULL);
		io_uring_for_each_cqe(&ring, head, answer) {
			if (answer->res == size) {
				went.messages++;
				went.bytes += size;
			}
			taken++;
		}
		io_uring_cq_advance(&ring, taken);
		missing -= taken;
	}
	return went;
}

static void provide(unsigned short buffer)
{
	io_uring_buf_ring_add(buffers, memory + buffer * stride, stride, buffer, io_uring_buf_ring_mask(BUFFERS), 0);
	io_uring_buf_ring_advance(buffers, 1);
}

static void open_receive_ring(void)
{
	open_ring(BUFFERS);
	stride = (size + 63) / 64 * 64;
	memory = pages(BUFFERS * stride);
	buffers = (void *)pages(BUFFERS * sizeof(struct io_uring_buf));
	memset(buffers, 0, BUFFERS * sizeof(struct io_uring_buf));
	struct io_uring_buf_reg group = { .ring_addr = (unsigned long)buffers, .ring_entries = BUFFERS };
	int answer = io_uring_register_buf_ring(&ring, &group, 0);
	if (answer) {
		errno = -answer;
		die("io_uring_register_buf_ring");
	}
	for (unsigned short buffer = 0; buffer < BUFFERS; buffer++)
		provide(buffer);
}

static struct counts receive_ring(void)
{
	struct io_uring_cqe *answer;
	struct counts came = { 0, 0 };
	if (!armed) {
		struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
		io_uring_prep_recv_multishot(entry, fd, NULL, 0, 0);
		entry->flags |= IOSQE_BUFFER_SELECT;
		entry->buf_group = 0;
		armed = 1;
	}
	if (io_uring_peek_cqe(&ring, &answer) && io_uring_submit_and_wait_timeout(&ring, &answer, 1, &patience, NULL) < 0)
		return came;
	if (!answer)
		return came;
	armed = !!(answer->flags & IORING_CQE_F_MORE);
	if (answer->res > 0) {
		came = (struct counts){ 1, answer->res };
		provide(answer->flags >> IORING_CQE_BUFFER_SHIFT);
	}
	io_uring_cqe_seen(&ring, answer);
	return came;
}
#endif

#ifdef WITH_XDP
static struct xsk_ring_prod sending, filled;
static struct xsk_ring_cons done, received;
static struct xsk_umem *umem;
static struct xsk_socket *frames;
static long frame_length;

static unsigned short checksum(const void *bytes, int length)
{
	unsigned sum = 0;
	for (const unsigned short *word = bytes; length > 1; length -= 2)
		sum += *word++;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* The frame of the flow that the connected socket has, and the rings that it leaves by. */
static void open_frames(const char *device)
{
	struct sockaddr_in ends[2];
	socklen_t length = sizeof ends[0];
	getsockname(fd, (struct sockaddr *)&ends[0], &length);
	getpeername(fd, (struct sockaddr *)&ends[1], &length);
	struct ifreq own = { 0 };
	struct arpreq next = { 0 };
	strcpy(own.ifr_name, device);
	strcpy(next.arp_dev, device);
	memcpy(&next.arp_pa, &ends[1], sizeof ends[1]);
	((struct sockaddr_in *)&next.arp_pa)->sin_port = 0;
	if (ioctl(fd, SIOCGIFHWADDR, &own) || ioctl(fd, SIOCGARP, &next))
		die("hardware addresses");
	memory = pages(XSK_UMEM__DEFAULT_FRAME_SIZE);
	struct ethhdr *ethernet = (struct ethhdr *)memory;
	memcpy(ethernet->h_dest, next.arp_ha.sa_data, 6);
	memcpy(ethernet->h_source, own.ifr_hwaddr.sa_data, 6);
	ethernet->h_proto = htons(ETH_P_IP);
	struct iphdr *ip = (struct iphdr *)(ethernet + 1);
	*ip = (struct iphdr){ .version = 4, .ihl = 5, .tot_len = htons(28 + size), .frag_off = htons(0x4000), .ttl = 64, .protocol = IPPROTO_UDP,
			      .saddr = ends[0].sin_addr.s_addr, .daddr = ends[1].sin_addr.s_addr };
	ip->check = checksum(ip, sizeof *ip);
	struct udphdr *udp = (struct udphdr *)(ip + 1);
	*udp = (struct udphdr){ .source = ends[0].sin_port, .dest = ends[1].sin_port, .len = htons(8 + size) };
	frame_length = 42 + size;
	struct xsk_socket_config config = { .tx_size = 2048, .rx_size = 2048, .libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD, .bind_flags = XDP_COPY };
	int answer = xsk_umem__create(&umem, memory, XSK_UMEM__DEFAULT_FRAME_SIZE, &filled, &done, NULL);
	/* Right after another socket has left the queue it may be busy for a while. */
	for (int tries = 0; !answer && tries < 40; tries++) {
		answer = xsk_socket__create(&frames, device, 0, umem, &received, &sending, &config);
		if (answer != -EBUSY)
			break;
		answer = 0;
		usleep(5000);
	}
	if (!answer && !frames)
		answer = -EBUSY;
	if (answer) {
		errno = -answer;
		die("an AF_XDP socket");
	}
}

static struct counts send_frames(void)
{
	unsigned first, at;
	if (xsk_ring_prod__reserve(&sending, batch, &first) != batch)
		return (struct counts){ 0, 0 };
	for (long place = 0; place < batch; place++)
		*xsk_ring_prod__tx_desc(&sending, first + place) = (struct xdp_desc){ .addr = 0, .len = frame_length };
	xsk_ring_prod__submit(&sending, batch);
	for (long missing = batch; missing > 0;) {
		sendto(xsk_socket__fd(frames), NULL, 0, MSG_DONTWAIT, NULL, 0);
		unsigned taken = xsk_ring_cons__peek(&done, batch, &at);
		xsk_ring_cons__release(&done, taken);
		missing -= taken;
	}
	return (struct counts){ batch, batch * size };
}
#endif

static struct counts run(call *once, int receives)
{
	struct counts all = { 0, 0 };
	while (part == 0)
		once();
	struct edge from = edge();
	while (part == 1) {
		struct counts moved = once();
		all.messages += moved.messages;
		all.bytes += moved.bytes;
	}
	struct edge to = edge();
	print(all.messages, all.bytes, from, to);
	/* What is still on its way must not meet a closed port. */
	while (receives && once().messages > 0)
		;
	return all;
}

static call *open_sender(const char *way)
{
	int each = size;
	memory = pages(size * batch);
	lay_out(0);
	if (!strcmp(way, "sendmmsg"))
		return send_many;
	if (!strcmp(way, "gso")) {
		if (batch > 65507 / size)
			batch = 65507 / size;
		if (setsockopt(fd, SOL_UDP, UDP_SEGMENT, &each, sizeof each))
			die("UDP_SEGMENT");
		return send_packet;
	}
#ifdef WITH_URING
	if (!strcmp(way, "uring")) {
		open_ring(batch);
		return send_ring;
	}
#endif
#ifdef WITH_XDP
	if (!strcmp(way, "xdp")) {
		open_frames("nettoll0");
		return send_frames;
	}
#endif
	errno = EINVAL;
	die(way);
	return NULL;
}

static call *open_receiver(const char *way)
{
	size_t apart = (size + 63) / 64 * 64;
	if (!strcmp(way, "sendmmsg")) {
		memory = pages(apart * batch);
		lay_out(apart);
		return receive_many;
	}
#ifdef WITH_URING
	if (!strcmp(way, "uring")) {
		open_receive_ring();
		return receive_ring;
	}
#endif
	memory = pages(ROOM);
	return !strcmp(way, "gso") ? receive_packet : receive_one;
}

static void list(void)
{
	puts("sendmmsg\ngso");
#ifdef WITH_URING
	puts("uring");
#endif
#ifdef WITH_XDP
	puts("xdp");
#endif
}

int main(int argc, char **argv)
{
	int one = 1;
	if (argc == 2 && !strcmp(argv[1], "list")) {
		list();
		return 0;
	}
	if (argc != 11) {
		fprintf(stderr, "see the top of ways.c\n");
		return 2;
	}
	int sends = !strcmp(argv[1], "send");
	const char *way = argv[2];
	size = atol(argv[7]);
	batch = atol(argv[8]);
	if (size < 1 || size > 65507 || batch < 1 || batch > MOST) {
		fprintf(stderr, "SIZE is 1 to 65507, BATCH 1 to %d\n", MOST);
		return 2;
	}
	enter_namespace(argv[3]);
	pin(atoi(argv[4]));
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(atoi(argv[6])) };
	inet_pton(AF_INET, argv[5], &address.sin_addr);
	socklen_t length = sizeof address;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	call *once;
	if (sends) {
		if (connect(fd, (struct sockaddr *)&address, sizeof address))
			die("connect");
		once = open_sender(way);
	} else {
		if (!strcmp(way, "gso") && setsockopt(fd, SOL_UDP, UDP_GRO, &one, sizeof one))
			die("UDP_GRO");
		if (bind(fd, (struct sockaddr *)&address, length))
			die("bind");
		getsockname(fd, (struct sockaddr *)&address, &length);
		printf("%d\n", ntohs(address.sin_port));
		fflush(stdout);
		/* Connected, as nettoll's is; the first datagram says to whom. */
		char first;
		recvfrom(fd, &first, 1, MSG_PEEK, (struct sockaddr *)&address, &length);
		connect(fd, (struct sockaddr *)&address, length);
		once = open_receiver(way);
	}
	limit_blocking(fd);
	arm(atol(argv[9]), atol(argv[10]));
	run(once, !sends);
	return 0;
}
