"""MQTT: every message of a topic is a small file of any known format, with a clock.

Needs the extra `vibrid[stream]`.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator

from vibrid.core.errors import InputError
from vibrid.records.streams.received import Message

PORT = 1883
_MOST = 10_000  # messages that wait


def messages(
    host: str,
    port: int,
    topic: str,
    tell: Callable[[str], None],
    client: str,
    user: str | None = None,
    password: str | None = None,
    tls: bool = False,
) -> Iterator[Message | None]:
    """Messages as they come, for ever, and None where none came for half a second.

    A connection that is lost is made again by the client library.

    Arguments
        client: name by which the broker keeps what comes while this program is away (quality of service 1).
    """
    try:
        from paho.mqtt import client as paho
        from paho.mqtt.enums import CallbackAPIVersion
    except ImportError:
        raise InputError(
            "MQTT is received with paho-mqtt, which is not installed: pip install 'vibrid[stream]'."
        ) from None
    waiting: queue.Queue[Message] = queue.Queue(_MOST)
    refused: list[str] = []
    link = paho.Client(CallbackAPIVersion.VERSION2, client_id=client, clean_session=False)

    def connected(own, _data, _flags, reason, _properties):
        if reason.is_failure:
            refused.append(str(reason))
            return
        own.subscribe(topic, qos=1)
        tell(f"MQTT broker {host} port {port}: connected, topic '{topic}'.")

    def lost(_own, _data, _flags, reason, _properties):
        if reason.is_failure:
            tell(f"MQTT broker {host} port {port}: {reason}; connecting again.")

    link.on_connect, link.on_disconnect = connected, lost
    link.on_message = lambda _own, _data, message: waiting.put(Message(bytes(message.payload)))
    if user is not None:
        link.username_pw_set(user, password)
    if tls:
        link.tls_set()
    link.reconnect_delay_set(1, 60)
    try:
        link.connect(host, port)
    except OSError as problem:
        raise InputError(f"MQTT broker {host} port {port}: {problem}.") from None
    link.loop_start()
    try:
        while True:
            try:
                yield waiting.get(timeout=0.5)
            except queue.Empty:
                if refused:
                    raise InputError(f"MQTT broker {host} port {port} refuses the connection: {refused[0]}.") from None
                yield None
    finally:
        link.loop_stop()
        link.disconnect()
