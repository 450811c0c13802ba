(* Arithmetic of the kernels, on the integers of the Coq distribution: residues with one correction,
   bytes, sums of products in machine words. Chapters: ring, linear, integrity.

   mod is the remainder in 0..p-1. *)
From Coq Require Import ZArith List Lia Zify.
Import ListNotations.
Local Open Scope Z_scope.

(* RING-1 on canonical residues. *)
Definition add_mod (L a b : Z) : Z := if a + b <? L then a + b else a + b - L.
Definition sub_mod (L a b : Z) : Z := if b <=? a then a - b else a - b + L.

Lemma add_mod_spec L a b : 0 <= a < L -> 0 <= b < L -> add_mod L a b = (a + b) mod L.
Proof.
intros Ha Hb. unfold add_mod. destruct (Z.ltb_spec (a + b) L).
- symmetry. apply Z.mod_small. lia.
- apply Z.mod_unique with (q := 1); lia.
Qed.

Lemma sub_mod_spec L a b : 0 <= a < L -> 0 <= b < L -> sub_mod L a b = (a - b) mod L.
Proof.
intros Ha Hb. unfold sub_mod. destruct (Z.leb_spec b a).
- symmetry. apply Z.mod_small. lia.
- apply Z.mod_unique with (q := -1); lia.
Qed.

(* ------------------------------------------------------------------- one pass in 32-bit words *)
Fixpoint dot (w u : list Z) : Z :=
  match w, u with
  | a :: w', c :: u' => a * c + dot w' u'
  | _, _ => 0
  end.

Definition between (lo hi a : Z) : Prop := lo <= a <= hi.

(* Every inner product of n weights in lo..hi with n numbers in 0..top fits a signed 32-bit word. *)
Definition fits_int32 (lo hi top : Z) (n : nat) : Prop :=
  forall w u, length w = n -> length u = n ->
  Forall (between lo hi) w -> Forall (between 0 top) u -> -2 ^ 31 <= dot w u <= 2 ^ 31 - 1.

Lemma dot_bounds B top w u : 0 <= B -> 0 <= top -> length u = length w ->
  Forall (between (- B) B) w -> Forall (between 0 top) u ->
  - (B * top * Z.of_nat (length w)) <= dot w u <= B * top * Z.of_nat (length w).
Proof.
intros HB Htop Hlen Hw. revert u Hlen.
induction Hw as [|a w Ha _ IH]; intros [|c u] Hlen Hu; try discriminate.
{ cbn [dot length Z.of_nat]. rewrite Z.mul_0_r. lia. }
inversion_clear Hu as [|? ? Hc Hu']. injection Hlen as Hlen.
specialize (IH u Hlen Hu'). cbn [dot length]. rewrite Nat2Z.inj_succ.
unfold between in *. nia.
Qed.

Lemma dot_repeat a c n : dot (repeat a n) (repeat c n) = a * c * Z.of_nat n.
Proof. induction n as [|n IH]; cbn [repeat dot]; [|rewrite IH, Nat2Z.inj_succ]; ring. Qed.

Lemma Forall_repeat (P : Z -> Prop) a n : P a -> Forall P (repeat a n).
Proof. intros Ha. apply Forall_forall. intros x Hx. apply repeat_spec in Hx. congruence. Qed.

(* Weights in -127..127 (PARAM-2), bytes below the greatest prime: n <= 67637, and no longer. *)
Lemma int32_bytes n : fits_int32 (-127) 127 250 n <-> Z.of_nat n <= 67637.
Proof.
split.
- intros H. specialize (H (repeat 127 n) (repeat 250 n)).
  rewrite !repeat_length, dot_repeat in H.
  specialize (H eq_refl eq_refl). do 2 (rewrite ?Forall_forall in H).
  enough (-2 ^ 31 <= 127 * 250 * Z.of_nat n <= 2 ^ 31 - 1) by lia.
  apply H; intros x Hx; apply repeat_spec in Hx; subst x; unfold between; lia.
- intros Hn w u Hw Hu Fw Fu.
  pose proof (dot_bounds 127 250 w u ltac:(lia) ltac:(lia) ltac:(congruence) Fw Fu) as H.
  rewrite Hw in H. lia.
Qed.

(* Passes over parts of the columns add up to the whole product. *)
Lemma dot_app w1 w2 u1 u2 : length w1 = length u1 ->
  dot (w1 ++ w2) (u1 ++ u2) = dot w1 u1 + dot w2 u2.
Proof.
revert u1. induction w1 as [|a w1 IH]; intros [|c u1] Hlen; try discriminate; [reflexivity|].
injection Hlen as Hlen. cbn. rewrite (IH _ Hlen). lia.
Qed.

(* A byte that is centred by its prime p <= 251 is at most 125 in magnitude and has the same
   remainder; two products of such bytes with weights fit a signed 16-bit word. *)
Definition centre (p r : Z) : Z := if r <=? (p - 1) / 2 then r else r - p.

Lemma centre_spec p r : 0 < p <= 251 -> 0 <= r < p ->
  between (-125) 125 (centre p r) /\ (centre p r) mod p = r.
Proof.
intros Hp Hr. unfold centre, between.
pose proof (Z.mul_div_le (p - 1) 2). pose proof (Z.mul_succ_div_gt (p - 1) 2).
destruct (Z.leb_spec r ((p - 1) / 2)).
- split; [lia|]. apply Z.mod_small. lia.
- split; [lia|]. symmetry. apply Z.mod_unique with (q := -1); lia.
Qed.

Lemma pair_fits_int16 a b c d :
  between (-127) 127 a -> between (-125) 125 b -> between (-127) 127 c -> between (-125) 125 d ->
  -2 ^ 15 < a * b + c * d < 2 ^ 15.
Proof. unfold between. nia. Qed.
