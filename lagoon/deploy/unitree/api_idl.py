"""The Go2's remote procedure calls as IDL types of Cyclone DDS.

What enters: nothing. What leaves: dataclasses. Names, order and types of the fields are the interface of
unitree_ros2's ``unitree_api`` (BSD-3-Clause). Importing this file needs the extra ``unitree``.
"""

# No `from __future__ import annotations`: cyclonedds reads the annotations as objects.

from dataclasses import dataclass

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import autoid, final
from cyclonedds.idl.types import int32, int64, sequence, uint8

NAMESPACE = "unitree_api.msg.dds_"


@dataclass
@final
@autoid("sequential")
class RequestIdentity(IdlStruct, typename=f"{NAMESPACE}.RequestIdentity_"):
    """Which call; the answer repeats it."""

    id: int64
    api_id: int64


@dataclass
@final
@autoid("sequential")
class RequestLease(IdlStruct, typename=f"{NAMESPACE}.RequestLease_"):
    """Not used here."""

    id: int64


@dataclass
@final
@autoid("sequential")
class RequestPolicy(IdlStruct, typename=f"{NAMESPACE}.RequestPolicy_"):
    """Whether an answer is wanted."""

    priority: int32
    noreply: bool


@dataclass
@final
@autoid("sequential")
class RequestHeader(IdlStruct, typename=f"{NAMESPACE}.RequestHeader_"):
    """Head of a request."""

    identity: RequestIdentity
    lease: RequestLease
    policy: RequestPolicy


@dataclass
@final
@autoid("sequential")
class Request(IdlStruct, typename=f"{NAMESPACE}.Request_"):
    """A call; parameter is JSON."""

    header: RequestHeader
    parameter: str
    binary: sequence[uint8]


@dataclass
@final
@autoid("sequential")
class ResponseStatus(IdlStruct, typename=f"{NAMESPACE}.ResponseStatus_"):
    """0 is success."""

    code: int32


@dataclass
@final
@autoid("sequential")
class ResponseHeader(IdlStruct, typename=f"{NAMESPACE}.ResponseHeader_"):
    """Head of an answer."""

    identity: RequestIdentity
    status: ResponseStatus


@dataclass
@final
@autoid("sequential")
class Response(IdlStruct, typename=f"{NAMESPACE}.Response_"):
    """An answer; data is JSON."""

    header: ResponseHeader
    data: str
    binary: sequence[uint8]
