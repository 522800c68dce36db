"""The keys of a ClusterConfig and their types, as far as clusterctl and its users write them."""

from __future__ import annotations

from typing import Any

STRING, INTEGER, BOOLEAN, STRINGS, MAPPING, ANY = "string", "int", "bool", "[]string", "map[string]string", "any"

Shape = dict[str, Any]
"""Key -> type name, nested shape, [shape] for a list of objects, or {"*": shape} for a map of objects."""

_SUBNETS: Shape = {"*": {"id": STRING, "az": STRING, "cidr": STRING}}

_VPC: Shape = {
    "id": STRING,
    "cidr": STRING,
    "nat": {"gateway": STRING},
    "clusterEndpoints": {"publicAccess": BOOLEAN, "privateAccess": BOOLEAN},
    "publicAccessCIDRs": STRINGS,
    "subnets": {"private": _SUBNETS, "public": _SUBNETS},
    "securityGroup": STRING,
    "sharedNodeSecurityGroup": STRING,
    "manageSharedNodeSecurityGroupRules": BOOLEAN,
    "controlPlaneSubnetIDs": STRINGS,
    "controlPlaneSecurityGroupIDs": STRINGS,
    "controlPlaneOnPrivateSubnets": BOOLEAN,
    "controlPlaneEgressMode": STRING,
    "extraCIDRs": STRINGS,
    "hostnameType": STRING,
    "autoAllocateIPv6": BOOLEAN,
}

_ADDON: Shape = {
    "name": STRING,
    "version": STRING,
    "configurationValues": STRING,
    "podIdentityAssociations": ANY,
    "useDefaultPodIdentityAssociations": BOOLEAN,
    "serviceAccountRoleARN": STRING,
    "attachPolicyARNs": STRINGS,
    "attachPolicy": ANY,
    "permissionsBoundary": STRING,
    "wellKnownPolicies": ANY,
    "resolveConflicts": STRING,
    "tags": MAPPING,
    "namespaceConfig": {"namespace": STRING},
    "publishers": STRINGS,
    "types": STRINGS,
    "owners": STRINGS,
}

_ADDON_POLICIES: Shape = dict.fromkeys(
    (
        "imageBuilder", "autoScaler", "externalDNS", "certManager", "appMesh", "appMeshPreview", "ebs", "fsx", "efs",
        "awsLoadBalancerController", "albIngress", "xRay", "cloudWatch",
    ),
    BOOLEAN,
)  # fmt: skip

_NODEGROUP: Shape = {
    **dict.fromkeys(
        (
            "name", "amiFamily", "ami", "releaseVersion", "instanceType", "instanceName", "instancePrefix",
            "volumeType", "volumeName", "volumeKmsKeyID", "outpostARN", "overrideBootstrapCommand",
        ),
        STRING,
    ),
    **dict.fromkeys(
        (
            "desiredCapacity", "minSize", "maxSize", "volumeSize", "volumeIOPS", "volumeThroughput", "maxPodsPerNode",
        ),
        INTEGER,
    ),
    **dict.fromkeys(
        (
            "spot", "privateNetworking", "efaEnabled", "propagateASGTags", "volumeEncrypted", "ebsOptimized",
            "disableIMDSv1", "disablePodIMDS", "enableDetailedMonitoring",
        ),
        BOOLEAN,
    ),
    **dict.fromkeys(
        ("instanceTypes", "availabilityZones", "subnets", "asgSuspendProcesses", "preBootstrapCommands"), STRINGS
    ),
    "labels": MAPPING,
    "tags": MAPPING,
    "taints": [{"key": STRING, "value": STRING, "effect": STRING}],
    "placement": {"groupName": STRING, "spreadLevel": STRING},
    "capacityReservation": {
        "capacityReservationPreference": STRING,
        "capacityReservationTarget": {
            "capacityReservationID": STRING,
            "capacityReservationResourceGroupARN": STRING,
        },
    },
    "instanceMarketOptions": {"marketType": STRING},
    "iam": {
        "withAddonPolicies": _ADDON_POLICIES,
        "attachPolicyARNs": STRINGS,
        "attachPolicy": ANY,
        "instanceRoleARN": STRING,
        "instanceRoleName": STRING,
        "instanceProfileARN": STRING,
        "instanceRolePermissionsBoundary": STRING,
    },
    "ssh": ANY,
    "securityGroups": {"attachIDs": STRINGS, "withLocal": BOOLEAN, "withShared": BOOLEAN},
    "launchTemplate": {"id": STRING, "version": STRING},
    "updateConfig": {"maxUnavailable": INTEGER, "maxUnavailablePercentage": INTEGER},
    "nodeRepairConfig": {
        "enabled": BOOLEAN,
        "maxUnhealthyNodeThresholdCount": INTEGER,
        "maxUnhealthyNodeThresholdPercentage": INTEGER,
        "maxParallelNodesRepairedCount": INTEGER,
        "maxParallelNodesRepairedPercentage": INTEGER,
        "nodeRepairConfigOverrides": ANY,
    },
    "instanceSelector": ANY,
    "additionalVolumes": ANY,
    "bottlerocket": ANY,
}  # fmt: skip

CLUSTER_CONFIG: Shape = {
    "apiVersion": STRING,
    "kind": STRING,
    "metadata": {
        "name": STRING,
        "region": STRING,
        "version": STRING,
        "tags": MAPPING,
        "annotations": MAPPING,
        "forceUpdateVersion": BOOLEAN,
        "rollbackConfig": ANY,
    },
    "iam": {
        "withOIDC": BOOLEAN,
        "serviceAccounts": ANY,
        "podIdentityAssociations": ANY,
        "serviceRoleARN": STRING,
        "serviceRolePermissionsBoundary": STRING,
        "vpcResourceControllerPolicy": BOOLEAN,
        "fargatePodExecutionRoleARN": STRING,
        "fargatePodExecutionRolePermissionsBoundary": STRING,
    },
    "vpc": _VPC,
    "availabilityZones": STRINGS,
    "localZones": STRINGS,
    "addons": [_ADDON],
    "addonsConfig": {"autoApplyPodIdentityAssociations": BOOLEAN, "disableDefaultAddons": BOOLEAN},
    "accessConfig": {
        "authenticationMode": STRING,
        "bootstrapClusterCreatorAdminPermissions": BOOLEAN,
        "accessEntries": ANY,
    },
    "cloudWatch": {"clusterLogging": {"enableTypes": STRINGS, "logRetentionInDays": INTEGER}},
    "autoModeConfig": {
        "enabled": BOOLEAN,
        "nodePools": STRINGS,
        "nodeRoleARN": STRING,
        "permissionsBoundaryARN": STRING,
    },
    "managedNodeGroups": [_NODEGROUP],
    **dict.fromkeys(
        (
            "nodeGroups", "fargateProfiles", "karpenter", "secretsEncryption", "privateCluster", "gitops", "outpost",
            "identityProviders", "iamIdentityMappings", "kubernetesNetworkConfig", "remoteNetworkConfig",
            "upgradePolicy", "zonalShiftConfig", "controlPlaneScalingConfig", "capabilities", "kubeAPIServerConfig",
            "kubeControllerManagerConfig", "kubeSchedulerConfig",
        ),
        ANY,
    ),
}  # fmt: skip
