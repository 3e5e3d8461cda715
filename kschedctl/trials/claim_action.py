"""Actions of the persistent volume controller on a claim; answers read them without the controller."""

from enum import StrEnum


class ClaimAction(StrEnum):
    """The action of the PersistentVolume controller for a claim."""

    #: The claim stays bound.
    KEEP = "Bound"
    #: The claim is bound to an existing volume.
    BIND = "Bind"
    #: The provisioner is requested to create a volume.
    PROVISION = "Provision"
    #: The claim waits for a pod that uses it.
    WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
    #: The claim waits until the pods that use it are scheduled.
    WAIT_FOR_POD = "WaitForPodScheduled"
    #: The volume in ``spec.volumeName`` does not exist yet.
    WAIT_FOR_VOLUME = "WaitForVolume"
    #: No volume matches the claim, or ``spec.volumeName`` is bound to another claim.
    FAILED_BINDING = "FailedBinding"
    #: The volume in ``spec.volumeName`` does not satisfy the claim.
    VOLUME_MISMATCH = "VolumeMismatch"
    #: The storage class does not exist or cannot provision volumes.
    PROVISIONING_FAILED = "ProvisioningFailed"
    #: The claim was bound to a volume that is gone or belongs to another claim.
    LOST = "Lost"
    #: Unknown, as the volumes or StorageClasses could not be listed.
    UNKNOWN = "Unknown"
