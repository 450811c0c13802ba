(* Averages over finite probability spaces: what proofs by hybrids need.

   A value that was drawn in a family may be drawn separately and put in its place; a hybrid argument
   changes one member of a family at a time. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Probability.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* f with the value x at i. *)
Definition replace (I : eqType) (X : I -> Type) (f : forall i, X i) (i : I) (x : X i) :
    forall j, X j :=
  fun j => if i =P j is ReflectT ij then ecast j (X j) ij x else f j.

(* The average of f under mu. *)
Definition mean (T : finType) (mu : T -> rat) (f : T -> rat) : rat := \sum_x mu x * f x.

Section Means.
Implicit Types (A B T : finType).

Lemma Pr_mean T (mu : T -> rat) (E : pred T) : Pr mu E = mean mu (fun x => (E x)%:R).
Proof.
by rewrite /Pr big_mkcond; apply: eq_bigr => x _; case: (E x); rewrite ?mulr1 ?mulr0.
Qed.

Lemma chance_over_mean T (mu : T -> rat) (A : Type) (c : T -> random A) (J : T * A -> bool) :
  chance_over mu c J = mean mu (fun x => chance (fun a => J (x, a)) (c x)).
Proof. by []. Qed.

Lemma eq_mean T (mu : T -> rat) f g : f =1 g -> mean mu f = mean mu g.
Proof. by move=> fg; apply: eq_bigr => x _; rewrite fg. Qed.

Lemma mean_independent A B (mu : A -> rat) (nu : B -> rat) f :
  mean (independent mu nu) f = mean mu (fun a => mean nu (fun b => f (a, b))).
Proof.
rewrite /mean [LHS](eq_bigr (fun z => independent mu nu (z.1, z.2) * f (z.1, z.2))); last by case.
rewrite -(pair_big xpredT xpredT (fun a b => independent mu nu (a, b) * f (a, b))) /=.
by apply: eq_bigr => a _; rewrite mulr_sumr; apply: eq_bigr => b _; rewrite mulrA.
Qed.

Lemma mean_swap A B (mu : A -> rat) (nu : B -> rat) f :
  mean mu (fun a => mean nu (fun b => f a b)) = mean nu (fun b => mean mu (fun a => f a b)).
Proof.
rewrite /mean; under eq_bigr do rewrite mulr_sumr; rewrite exchange_big /=; apply: eq_bigr => b _.
by rewrite mulr_sumr; apply: eq_bigr => a _; rewrite mulrCA.
Qed.

Lemma mean_const T (mu : T -> rat) (c : rat) : distribution mu -> mean mu (fun _ => c) = c.
Proof. by case=> _ total; rewrite /mean -mulr_suml total mul1r. Qed.

Lemma independent_distribution A B (mu : A -> rat) (nu : B -> rat) :
  distribution mu -> distribution nu -> distribution (independent mu nu).
Proof.
move=> mu_dist nu_dist; split=> [[a b]|].
  by case: mu_dist nu_dist => mu_ge0 _ [nu_ge0 _]; rewrite mulr_ge0.
transitivity (mean (independent mu nu) (fun _ => 1)).
  by apply: eq_bigr => z _; rewrite mulr1.
by rewrite mean_independent; under eq_mean do rewrite mean_const //; rewrite mean_const.
Qed.

Lemma mean_close T (mu : T -> rat) f g (c : rat) :
  distribution mu -> (forall x, `|f x - g x| <= c) -> `|mean mu f - mean mu g| <= c.
Proof. exact: average_close. Qed.

(* A uniform value through a bijection. *)
Lemma mean_bijection A B (phi : A -> B) (f : B -> rat) : bijective phi ->
  mean (@uniform A) (fun a => f (phi a)) = mean (@uniform B) f.
Proof.
move=> phi_bij; rewrite /mean [RHS](reindex phi) /=; last exact: onW_bij.
by rewrite /uniform (bij_eq_card phi_bij).
Qed.

(* Averages agree but for an event. *)
Lemma mean_except T (mu : T -> rat) (f g : T -> rat) (E : pred T) : distribution mu ->
  (forall x, 0 <= f x <= 1) -> (forall x, 0 <= g x <= 1) -> (forall x, ~~ E x -> f x = g x) ->
  `|mean mu f - mean mu g| <= Pr mu E.
Proof.
case=> mu_ge0 _ f01 g01 same; rewrite /mean -sumrB /Pr [X in _ <= X]big_mkcond /=.
apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => x _; rewrite -mulrBr normrM ger0_norm //.
case: ifP => [_|/negbT/same ->]; last by rewrite subrr normr0 mulr0.
rewrite -[X in _ <= X]mulr1 ler_wpmul2l // ler_norml.
have /andP[f_ge0 f_le1] := f01 x; have /andP[g_ge0 g_le1] := g01 x.
rewrite ler_subl_addr ler_subr_addl.
by rewrite (le_trans f_le1) ?ler_addl // (le_trans _ f_ge0) // subr_le0.
Qed.

(* Drawing one more value and putting it in changes nothing. *)
Section Replace.
Variables (I : finType) (X : I -> finType) (i : I).
Notation family := {dffun forall i, X i}.
Notation put z x := ([ffun j => replace (z : family) (x : X i) j] : family).

Lemma replace_same (f : forall i, X i) (x : X i) : replace f x i = x.
Proof. by rewrite /replace; case: eqP => // e; rewrite eq_axiomK. Qed.

Lemma replace_other (f : forall i, X i) (x : X i) j : j != i -> replace f x j = f j.
Proof. by rewrite /replace; case: eqP => // e /eqP []. Qed.

Lemma mean_replace (w : family -> rat) (mu : X i -> rat) (f : family -> rat) :
  (forall x z, mu x * w z = mu (z i) * w (put z x)) -> \sum_x mu x = 1 ->
  mean mu (fun x => mean w (fun z => f (put z x))) = mean w f.
Proof.
move=> swap total.
transitivity (mean (independent mu w) (fun y => f (put y.2 y.1))); first by rewrite mean_independent.
pose phi (y : X i * family) := (y.2 i, put y.2 y.1).
have phiK : involutive phi.
  case=> x z; rewrite /phi /= ffunE replace_same; congr (_, _); apply/ffunP => j; rewrite !ffunE.
  case: (eqVneq j i) => [->|j_i]; first by rewrite replace_same.
  by rewrite !replace_other // ffunE replace_other.
transitivity (mean (independent mu w) (fun y => f y.2)); last first.
  rewrite mean_independent /= /mean -mulr_suml total mul1r; exact: erefl.
rewrite /mean [RHS](reindex phi) /=; last exact/onW_bij/inv_bij.
by apply: eq_bigr => y _; rewrite /independent /= swap.
Qed.

Lemma mean_replace_uniform (f : family -> rat) : (0 < #|X i|)%N ->
  mean (@uniform (X i)) (fun x => mean (@uniform [finType of family]) (fun z => f (put z x)))
    = mean (@uniform [finType of family]) f.
Proof. by move=> X_gt0; apply: mean_replace => //; case: (uniform_distribution X_gt0). Qed.
End Replace.

(* So for a family that is drawn independently. *)
Lemma mean_replace_product (I : finType) (X : I -> finType) (i : I) (mu : forall i, X i -> rat)
    (f : {dffun forall i, X i} -> rat) : \sum_x mu i x = 1 ->
  mean (mu i) (fun x => mean (fun z : {dffun forall i, X i} => \prod_j mu j (z j))
                          (fun z => f [ffun j => replace z x j]))
    = mean (fun z : {dffun forall i, X i} => \prod_j mu j (z j)) f.
Proof.
move=> total; apply: mean_replace total => x z.
rewrite (bigD1 i) //= [in RHS](bigD1 i) //= ffunE replace_same mulrCA; congr (_ * (_ * _)).
by apply: eq_bigr => j j_i; rewrite ffunE replace_other.
Qed.

Lemma product_distribution (I : finType) (X : I -> finType) (mu : forall i, X i -> rat) :
  (forall i, distribution (mu i)) ->
  distribution (fun z : {dffun forall i, X i} => \prod_j mu j (z j)).
Proof.
move=> mu_dist; split=> [z|]; first by apply: prodr_ge0 => j _; case: (mu_dist j).
pose tags (z : {dffun forall i, X i}) : {ffun I -> {i : I & X i}} := [ffun j => Tagged X (z j)].
pose P j : pred {i : I & X i} := fun y => tag y == j.
have tags_inj : injective tags.
  move=> z z' /ffunP eq_zz'; apply/ffunP => j; have := eq_zz' j; rewrite !ffunE => /eqP.
  by rewrite eq_Tagged => /eqP.
have image : [set f in family P] = tags @: setT.
  apply/setP => f; rewrite inE; apply/familyP/imsetP => [fP|[z _ ->] j]; last first.
    by rewrite ffunE unfold_in /=.
  pose z : {dffun forall i, X i} := [ffun j => eq_rect _ X (tagged (f j)) j (eqP (fP j))].
  exists z; rewrite ?inE //; apply/ffunP => j; rewrite !ffunE; move: (eqP (fP j)) => e.
  by move: (f j) e => [j' x] /= e; case: _ / e.
transitivity (\sum_(f in tags @: setT) \prod_j mu (tag (f j)) (tagged (f j))).
  rewrite big_imset /=; last by move=> z z' _ _; apply: tags_inj.
  by apply: eq_big => z; rewrite ?inE // => _; apply: eq_bigr => j _; rewrite ffunE.
rewrite -image (eq_bigl (fun f => f \in family P)) => [|f]; last by rewrite inE.
rewrite -(bigA_distr_big_dep P (fun _ y => mu (tag y) (tagged y))) big1 // => j _.
transitivity (\sum_(x : X j) mu j x); last by case: (mu_dist j).
rewrite [RHS](_ : _ = \sum_(y in [set Tagged X x | x in [set: X j]]) mu (tag y) (tagged y)).
  apply: eq_bigl => -[j' x]; rewrite /P unfold_in /=; apply/eqP/imsetP => [e|[x' _ []]//].
  by case: _ / e; exists x; rewrite ?inE.
rewrite big_imset /= => [|x x' _ _ /eqP]; last by rewrite eq_Tagged => /eqP.
by apply: eq_bigl => x; rewrite inE.
Qed.
(* Some members of a uniform family may be drawn separately. *)
Section Put.
Variables (A B X : finType) (phi : A -> B).
Hypothesis phi_inj : injective phi.
Let put (f : {ffun B -> X}) (v : {ffun A -> X}) : {ffun B -> X} :=
  [ffun x => if [pick a | phi a == x] is Some a then v a else f x].

Lemma put_in f v a : put f v (phi a) = v a.
Proof.
rewrite ffunE; case: pickP => [a' /eqP/phi_inj -> //|/(_ a)]; by rewrite eqxx.
Qed.

Lemma put_out f v x : (forall a, phi a != x) -> put f v x = f x.
Proof. by move=> out; rewrite ffunE; case: pickP => // a; rewrite (negPf (out a)). Qed.

Lemma mean_put (F : {ffun B -> X} -> {ffun A -> X} -> rat) :
  (0 < #|X|)%N ->
  (forall (f f' : {ffun B -> X}) (v : {ffun A -> X}),
     (forall x, (forall a, phi a != x) -> f x = f' x) -> F f v = F f' v) ->
  mean (@uniform [finType of {ffun B -> X}]) (fun f => F f [ffun a => f (phi a)])
    = mean (@uniform [finType of {ffun A -> X}])
        (fun v => mean (@uniform [finType of {ffun B -> X}]) (fun f => F f v)).
Proof.
move=> X_gt0 outside.
pose swap (y : {ffun A -> X} * {ffun B -> X}) := ([ffun a => y.2 (phi a)], put y.2 y.1).
have swapK : involutive swap.
  case=> v f; rewrite /swap /=; congr (_, _); apply/ffunP.
    by move=> a; rewrite ffunE put_in.
  move=> x; rewrite ffunE.
  case: pickP => [a /eqP <-|none]; first by rewrite ffunE.
  by rewrite put_out // => a; rewrite none.
transitivity (mean (independent (@uniform [finType of {ffun A -> X}])
                      (@uniform [finType of {ffun B -> X}]))
                (fun y => F y.2 [ffun a => y.2 (phi a)])).
  rewrite mean_independent /= mean_const //; apply: uniform_distribution.
  by rewrite card_ffun expn_gt0 X_gt0.
transitivity (mean (independent (@uniform [finType of {ffun A -> X}])
                      (@uniform [finType of {ffun B -> X}])) (fun y => F y.2 y.1)); last first.
  by rewrite mean_independent.
rewrite /mean [RHS](reindex swap) /=; last exact/onW_bij/inv_bij.
apply: eq_bigr => y _; congr (_ * _); apply: outside => x out.
by rewrite put_out.
Qed.
End Put.

End Means.
