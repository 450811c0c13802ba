(* Limbs: a product of small weights with residues, from products with pieces of s bits.
   Chapter: linear (how David reduces is his choice; the residues are not). *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Ring Masking.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* Limb l of x: bits s l .. s l + s - 1. *)
Definition limb (s l x : nat) : nat := ((x %/ 2 ^ (s * l)) %% 2 ^ s)%N.

(* The limbs of the canonical residues of a message, as integers. *)
Definition limb_mx (L s l n b : nat) (x : 'M['Z_L]_(n, b)) : 'M[int]_(n, b) :=
  map_mx (fun a : 'Z_L => (limb s l a)%:Z) x.

(* One pass a limb, each over Z; the passes are weighted, added and reduced mod L. *)
Definition limb_product (L s K m n b : nat) (W : 'M[int]_(m, n)) (x : 'M['Z_L]_(n, b)) :
    'M['Z_L]_(m, b) :=
  embed_mx L (\sum_(l < K) (2 ^ (s * l))%N%:Z *: (W *m limb_mx s l x)).

Lemma limb_lt s l x : (limb s l x < 2 ^ s)%N.
Proof. by rewrite ltn_mod expn_gt0. Qed.

Lemma sum_limbs_mod s K x : (\sum_(l < K) 2 ^ (s * l) * limb s l x = x %% 2 ^ (s * K))%N.
Proof.
elim: K => [|K IH]; first by rewrite big_ord0 muln0 expn0 modn1.
rewrite big_ord_recr /= IH mulnS expnD /limb modn_divl.
rewrite [in RHS](divn_eq (x %% (2 ^ s * 2 ^ (s * K))) (2 ^ (s * K))).
by rewrite modn_dvdm ?dvdn_mull // addnC mulnC.
Qed.

Lemma sum_limbs s K x : (x < 2 ^ (s * K))%N -> (\sum_(l < K) 2 ^ (s * l) * limb s l x)%N = x.
Proof. by move=> x_lt; rewrite sum_limbs_mod modn_small. Qed.

Section Product.
Variables (L s K m n b : nat).
Hypothesis L_gt1 : (1 < L)%N.
Hypothesis L_le : (L <= 2 ^ (s * K))%N.

Lemma sum_limb_mx (x : 'M['Z_L]_(n, b)) :
  \sum_(l < K) (2 ^ (s * l))%N%:Z *: limb_mx s l x = map_mx (fun a : 'Z_L => (a : nat)%:Z) x.
Proof.
apply/matrixP=> i j; rewrite summxE !mxE.
have x_lt : (x i j < 2 ^ (s * K))%N by apply: leq_trans L_le; apply: residue_lt.
rewrite -[in RHS](sum_limbs x_lt) (big_morph Posz PoszD (erefl _)).
by apply: eq_bigr => l _; rewrite !mxE PoszM.
Qed.

Lemma limb_product_exact (W : 'M[int]_(m, n)) (x : 'M['Z_L]_(n, b)) :
  limb_product s K W x = product W x.
Proof.
rewrite /limb_product /product.
rewrite (eq_bigr (fun l : 'I_K => W *m ((2 ^ (s * l))%N%:Z *: limb_mx s l x))); last first.
  by move=> l _; rewrite -scalemxAr.
rewrite -mulmx_sumr sum_limb_mx embed_mxM; congr (_ *m _).
by apply/matrixP=> i j; rewrite !mxE embed_residue.
Qed.
End Product.
