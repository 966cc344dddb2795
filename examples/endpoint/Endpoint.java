// An external endpoint in Java: the contract is docs/endpoint.md.
// Run: java Endpoint.java, or javac Endpoint.java and java Endpoint.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.DatagramChannel;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

class Endpoint {
    static final BufferedReader INPUT = new BufferedReader(new InputStreamReader(System.in));

    static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    static String hear(String word) throws Exception {
        String line = INPUT.readLine();
        if (line == null || !line.startsWith(word)) throw new Exception("expected " + word + ", got " + line);
        return line.substring(word.length()).trim();
    }

    static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        return new InetSocketAddress(text.substring(0, colon).replaceAll("[\\[\\]]", ""), Integer.parseInt(text.substring(colon + 1)));
    }

    static ByteChannel join(boolean sends, boolean tcp, InetSocketAddress here) throws Exception {
        if (!tcp) {
            DatagramChannel channel = DatagramChannel.open().bind(here);
            say("ready " + ((InetSocketAddress) channel.getLocalAddress()).getPort());
            return channel.connect(address(hear("connect")));
        }
        if (!sends) {
            ServerSocketChannel listener = ServerSocketChannel.open().bind(here);
            say("ready " + ((InetSocketAddress) listener.getLocalAddress()).getPort());
            hear("connect");
            return listener.accept();
        }
        SocketChannel channel = SocketChannel.open().bind(here);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, "1".equals(System.getenv("NT_NODELAY")));
        say("ready -"); // Who connects has no port to tell.
        channel.connect(address(hear("connect")));
        return channel;
    }

    public static void main(String[] none) throws Exception {
        boolean sends = System.getenv("NT_ROLE").equals("send"), tcp = System.getenv("NT_PROTO").equals("tcp");
        int size = Integer.parseInt(System.getenv(sends ? "NT_SIZE" : "NT_READ"));
        MappedByteBuffer page = new RandomAccessFile(System.getenv("NT_PAGE"), "rw").getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 4096);
        page.order(ByteOrder.nativeOrder());
        ByteChannel channel = join(sends, tcp, address(System.getenv("NT_BIND")));
        say("connected");
        hear("go");
        ByteBuffer room = ByteBuffer.allocateDirect(size);
        for (long messages = 0, bytes = 0; !sends || page.get(0) != 3;) {
            room.clear();
            int moved = sends ? 0 : channel.read(room);
            if (moved < 0) return;
            while (sends && room.hasRemaining()) moved += channel.write(room);
            page.putLong(64, ++messages);
            page.putLong(72, bytes += moved);
        }
        say("done");
        hear("stop");
    }
}
