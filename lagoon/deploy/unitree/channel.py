"""DDS topics that carry bytes: a thin layer over Cyclone DDS.

What enters: a network interface, a domain, topic names with their IDL types. What leaves: readers and
writers of serialised samples. The IDL types announce themselves to the robot; samples pass them by.
Needs the extra ``unitree``; nothing here knows a robot.
"""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass
from typing import Any, TypeVar
from xml.sax.saxutils import quoteattr

from lagoon.deploy.unitree.config import LOOPBACK
from lagoon.errors import BadInputError, LagoonError, require

End = TypeVar("End", "Writer", "Reader")
_DOMAINS: dict[int, tuple[str, Any]] = {}
_LOCK = threading.Lock()


class LinkError(LagoonError):
    """The network, or whoever is on it, does not allow a link to the robot."""


@dataclass(frozen=True)
class Sample:
    """One received sample."""

    data: bytes
    sender: int
    """Handle of the writer within this process."""
    sent_ns: int
    """When it was written, on the sender's clock [ns since 1970]."""


class _Bytes:
    """Stands where Cyclone DDS expects an IDL object, and passes the bytes through."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.sample_info: Any = None

    def serialize(self, use_version_2: bool | None = None) -> bytes:
        return self.data

    @classmethod
    def deserialize(cls, data: bytes) -> _Bytes:
        return cls(data)

    deserialize_key = deserialize


class Writer:
    """Sends bytes to one topic."""

    def __init__(self, participant: Any, topic: str, idl_type: type) -> None:
        """Announce a writer; reliable, as the vendor's, since readers of either kind match it."""
        from cyclonedds.pub import DataWriter
        from cyclonedds.topic import Topic

        self.topic = topic
        self._writer: Any = DataWriter(participant, Topic(participant, topic, idl_type))
        self._writer.data_type = _Bytes

    def write(self, data: bytes, sent_ns: int | None = None) -> None:
        """Hand a serialised sample on.

        Args:
            data: the sample.
            sent_ns: its time stamp [ns since 1970]; now by default.

        Raises:
            LinkError: the link is closed, or the network does not take it.
        """
        from cyclonedds.core import DDSException

        if self._writer is None:
            raise LinkError(f"The link is closed; nothing is sent to {self.topic}.")
        try:
            self._writer.write(_Bytes(data), sent_ns)
        except DDSException as error:
            raise LinkError(f"Nothing could be sent to {self.topic} ({error}). Check the cable and: ip link") from error

    @property
    def num_readers(self) -> int:
        """Readers that have been found."""
        return len(self._writer.get_matched_subscriptions()) if self._writer is not None else 0

    def close(self) -> None:
        """Take the writer off the network."""
        self._writer = None


class Reader:
    """Receives bytes of one topic: the newest ones, never a backlog."""

    def __init__(self, participant: Any, topic: str, idl_type: type, depth: int, ignore_own: bool) -> None:
        """Announce a reader; best-effort, so that writers of either kind match it."""
        from cyclonedds.qos import Policy, Qos
        from cyclonedds.sub import DataReader
        from cyclonedds.topic import Topic

        own = [Policy.IgnoreLocal.Participant] if ignore_own else []
        qos = Qos(Policy.Reliability.BestEffort, Policy.History.KeepLast(depth), *own)
        self._depth = depth
        self._reader: Any = DataReader(participant, Topic(participant, topic, idl_type), qos)
        self._reader.topic.data_type = _Bytes

    def take(self) -> list[Sample]:
        """Return what has arrived since the last call, oldest first; nothing once it is closed."""
        if self._reader is None:
            return []
        taken = [(item, item.sample_info) for item in self._reader.take(self._depth) if isinstance(item, _Bytes)]
        return [Sample(item.data, info.publication_handle, info.source_timestamp) for item, info in taken]

    def senders(self) -> dict[int, str]:
        """Writers of the topic that have been found, by handle; each with its participant's number."""
        found, reader = {}, self._reader
        if reader is None:
            return found
        for handle in reader.get_matched_publications():
            data = reader.get_matched_publication_data(handle)
            if data is not None:
                found[handle % 2**64] = f"participant {str(data.participant_key)[:18]}"
        return found

    def close(self) -> None:
        """Take the reader off the network."""
        self._reader = None


class Participant:
    """One member of a DDS domain on one network interface."""

    def __init__(self, interface: str, domain: int) -> None:
        """Join.

        Raises:
            MissingExtraError: cyclonedds is not installed.
            BadInputError: no such interface, or the process already uses the domain on another one.
            LinkError: Cyclone DDS cannot use the interface.
        """
        require("cyclonedds", extra="unitree")
        from cyclonedds.core import DDSException
        from cyclonedds.domain import Domain, DomainParticipant

        known = [name for _, name in socket.if_nameindex()]
        if interface not in known:
            raise BadInputError(
                f"This computer has no network interface '{interface}'. It has: {', '.join(known)}. "
                "Name the one that the robot is connected to with deploy.unitree.interface=NAME."
            )
        with _LOCK:
            used = _DOMAINS.get(domain)
            if used is not None and used[0] != interface:
                raise BadInputError(
                    f"DDS domain {domain} runs on interface '{used[0]}' in this process; '{interface}' cannot be "
                    "added. Use another domain, or another process."
                )
            try:
                if used is None:
                    # Given here, the configuration also wins over CYCLONEDDS_URI.
                    _DOMAINS[domain] = (interface, Domain(domain, network_xml(interface)))
                self._participant: Any = DomainParticipant(domain)
                self._ends: list[Writer | Reader] = []
            except DDSException as error:
                raise LinkError(
                    f"Cyclone DDS cannot use interface '{interface}' in domain {domain} ({error}). "
                    "Check that the interface is up and has an address: ip address"
                ) from error

    def writer(self, topic: str, idl_type: type) -> Writer:
        """Return a writer of a topic."""
        return self._keep(Writer(self._participant, topic, idl_type))

    def reader(self, topic: str, idl_type: type, depth: int = 1, ignore_own: bool = False) -> Reader:
        """Return a reader of a topic.

        Args:
            topic: its name.
            idl_type: its type.
            depth: samples kept until they are taken; newer ones push older ones out.
            ignore_own: leave out what this participant writes.
        """
        return self._keep(Reader(self._participant, topic, idl_type, depth, ignore_own))

    def _keep(self, end: End) -> End:
        self._ends.append(end)
        return end

    def close(self) -> None:
        """Leave the network with everything that was made here; may be called twice."""
        for end in self._ends:
            end.close()
        self._ends, self._participant = [], None


def network_xml(interface: str) -> str:
    """Return Cyclone DDS's configuration for one interface; on the loopback one nothing is multicast."""
    name = quoteattr(interface)
    if interface != LOOPBACK:
        general, discovery = f"<Interfaces><NetworkInterface name={name}/></Interfaces>", ""
    else:
        general = (
            f'<Interfaces><NetworkInterface name={name} multicast="false"/></Interfaces>'
            "<AllowMulticast>false</AllowMulticast>"
        )
        discovery = (
            "<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>30</MaxAutoParticipantIndex>"
            '<Peers><Peer address="127.0.0.1"/></Peers></Discovery>'
        )
    return f'<CycloneDDS><Domain Id="any"><General>{general}</General>{discovery}</Domain></CycloneDDS>'
